package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// The values of a pickle besides integers (int), texts and bytes ([]byte), lists and tuples
// (*[]any) and dictionaries (map[string]any).
type (
	// mark is where a list, a tuple or a dictionary on the stack begins.
	mark struct{}
	// global is the name of a function or a class. It is never called.
	global string
	// object is what a call of a global would make: the arguments, and the state that it would get
	// afterwards.
	object struct {
		of    global
		args  []any
		state any
	}
)

// unpickle reads a pickle as data. A pickle is a program that may call any function of Python's:
// here each call becomes a note of it, an *object. It knows the opcodes of dictionaries of arrays,
// texts and numbers up to protocol 5; any other is an error.
//
// The library for this (gopickle) gets as much memory as a file says that it needs, before it reads
// on.
func unpickle(content []byte) (value any, err error) {
	p := pickle{rest: content}
	defer func() {
		if broken := recover(); broken != nil {
			known, ok := broken.(brokenPickle)
			if !ok {
				panic(broken)
			}
			err = fmt.Errorf(
				"not a pickle of arrays: %s at byte %d",
				string(known),
				len(content)-len(p.rest),
			)
		}
	}()
	for {
		if op := p.take(1)[0]; op == '.' {
			return p.pop(), nil
		} else {
			p.do(op)
		}
	}
}

// pickle is one that is being read: what is left of it, the stack, and the values that it comes
// back to.
type pickle struct {
	rest  []byte
	stack []any
	memo  map[int]any
}

// brokenPickle is a panic of a pickle that cannot be read.
type brokenPickle string

// take takes bytes off the pickle.
func (p *pickle) take(count uint64) []byte {
	if count > uint64(len(p.rest)) {
		panic(brokenPickle("it ends too early"))
	}
	taken := p.rest[:count]
	p.rest = p.rest[count:]
	return taken
}

// number takes a little-endian number of so many bytes.
func (p *pickle) number(width uint64) uint64 {
	var wide [8]byte
	copy(wide[:], p.take(width))
	return binary.LittleEndian.Uint64(wide[:])
}

// counted takes as many bytes as a number of so many bytes says.
func (p *pickle) counted(width uint64) []byte { return p.take(p.number(width)) }

// line takes a line without its end.
func (p *pickle) line() string {
	end := bytes.IndexByte(p.rest, '\n')
	if end < 0 {
		panic(brokenPickle("it ends too early"))
	}
	return string(p.take(uint64(end) + 1)[:end])
}

// maxValues is the most values on the stack or in the memo: ten times what 10,000 images with names
// need.
const maxValues = 100_000

// push puts a value on the stack.
func (p *pickle) push(value any) {
	if len(p.stack) == maxValues || len(p.memo) > maxValues {
		panic(brokenPickle("too many values"))
	}
	p.stack = append(p.stack, value)
}

// pop takes the last value off the stack.
func (p *pickle) pop() any {
	if len(p.stack) == 0 {
		panic(brokenPickle("a value is missing"))
	}
	last := p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
	return last
}

// popMarked takes the values since the last mark off the stack, and the mark.
func (p *pickle) popMarked() []any {
	at := len(p.stack) - 1
	for ; at >= 0; at-- {
		if _, found := p.stack[at].(mark); found {
			break
		}
	}
	if at < 0 {
		panic(brokenPickle("a mark is missing"))
	}
	values := slices.Clone(p.stack[at+1:])
	p.stack = p.stack[:at]
	return values
}

// as is a value of a type.
func as[T any](value any) T {
	typed, ok := value.(T)
	if !ok {
		panic(brokenPickle(fmt.Sprintf("a %T where a %T should be", value, typed)))
	}
	return typed
}

// do carries out one opcode. Their names are those of Python's pickletools.
func (p *pickle) do(op byte) {
	switch op {
	case 0x80: // PROTO
		p.take(1)
	case 0x95: // FRAME
		p.take(8)
	case '(':
		p.push(mark{})
	case '0':
		p.pop()
	case 'N':
		p.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		p.push(op == 0x88)
	case 'K', 'M':
		p.push(int(p.number(map[byte]uint64{'K': 1, 'M': 2}[op])))
	case 'J':
		p.push(int(int32(p.number(4))))
	case 'I':
		number, err := strconv.Atoi(p.line())
		if err != nil {
			panic(brokenPickle("no number"))
		}
		p.push(number)
	case 'U', 'C', 0x8c: // texts and bytes, after the number of bytes in one byte
		p.push(p.counted(1))
	case 'T', 'B', 'X': // in four
		p.push(p.counted(4))
	case 0x8e, 0x8d, 0x96: // in eight
		p.push(p.counted(8))
	case ']', ')':
		p.push(new([]any))
	case 'l', 't':
		values := p.popMarked()
		p.push(&values)
	case 0x85, 0x86, 0x87: // TUPLE1 to TUPLE3
		values := make([]any, op-0x84)
		for i := range values {
			values[len(values)-1-i] = p.pop()
		}
		p.push(&values)
	case 'a', 'e':
		values := []any{nil}
		if op == 'a' {
			values[0] = p.pop()
		} else {
			values = p.popMarked()
		}
		list := as[*[]any](p.pop())
		*list = append(*list, values...)
		p.push(list)
	case '}':
		p.push(map[string]any{})
	case 's', 'u', 'd':
		var values []any
		if op == 's' {
			value := p.pop()
			values = []any{p.pop(), value}
		} else {
			values = p.popMarked()
		}
		dictionary := map[string]any{}
		if op != 'd' {
			dictionary = as[map[string]any](p.pop())
		}
		if len(values)%2 != 0 {
			panic(brokenPickle("a value is missing"))
		}
		for i := 0; i < len(values); i += 2 {
			dictionary[string(as[[]byte](values[i]))] = values[i+1]
		}
		p.push(dictionary)
	case 'c':
		module := p.line()
		p.push(global(module + "." + p.line()))
	case 0x93: // STACK_GLOBAL
		name := as[[]byte](p.pop())
		p.push(global(string(as[[]byte](p.pop())) + "." + string(name)))
	case 'R':
		args := as[*[]any](p.pop())
		p.push(&object{of: as[global](p.pop()), args: *args})
	case 'b':
		state := p.pop()
		made := as[*object](p.pop())
		made.state = state
		p.push(made)
	case 'q', 'r', 'p', 0x94: // BINPUT, LONG_BINPUT, PUT, MEMOIZE
		if p.memo == nil {
			p.memo = map[int]any{}
		}
		last := p.pop()
		p.push(last)
		at := len(p.memo)
		if op != 0x94 {
			at = p.place(op)
		}
		p.memo[at] = last
	case 'h', 'j', 'g': // BINGET, LONG_BINGET, GET
		value, ok := p.memo[p.place(op)]
		if !ok {
			panic(brokenPickle("a value is missing"))
		}
		p.push(value)
	default:
		panic(brokenPickle(fmt.Sprintf("opcode %q", op)))
	}
}

// place takes the number of a place in the memo.
func (p *pickle) place(op byte) int {
	switch op {
	case 'q', 'h':
		return int(p.number(1))
	case 'r', 'j':
		return int(p.number(4))
	}
	number, err := strconv.Atoi(p.line())
	if err != nil {
		panic(brokenPickle("no number"))
	}
	return number
}

// array returns the bytes of a NumPy array of bytes [rows, columns] as a pickle has it.
func array(value any, rows, columns int) ([]byte, error) {
	made, ok := value.(*object)
	if !ok {
		return nil, errors.New("it has no array of images")
	}
	var shape, kind, content any
	order := any(false) // of the dimensions: Fortran's
	switch made.of {
	case "numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct":
		if state, ok := made.state.(*[]any); ok &&
			len(*state) == 5 { // version, shape, type, order, bytes
			shape, kind, order, content = (*state)[1], (*state)[2], (*state)[3], (*state)[4]
		}
	case "numpy.core.numeric._frombuffer", "numpy._core.numeric._frombuffer":
		if len(made.args) == 4 { // bytes, type, shape, order
			content, kind, shape = made.args[0], made.args[1], made.args[2]
			letter, ok := made.args[3].([]byte)
			order = !ok || string(letter) != "C"
		}
	default:
		return nil, fmt.Errorf(
			"it calls %.60q, which is never done: arrays of numbers alone are read",
			string(made.of),
		)
	}
	dims, ok := shape.(*[]any)
	if ok = ok && slices.Equal(*dims, []any{rows, columns}); !ok {
		return nil, fmt.Errorf("its array is not one of %d images of %d bytes", rows, columns)
	}
	of, ok := kind.(*object)
	if ok = ok && of.of == "numpy.dtype" && len(of.args) > 0; ok {
		letters, texts := of.args[0].([]byte)
		ok = texts && string(letters) == "u1"
	}
	if order != false && order != 0 || !ok {
		return nil, errors.New("its array is not one of bytes, row by row")
	}
	if encoded, ok := content.(*object); ok && encoded.of == "_codecs.encode" &&
		len(encoded.args) == 2 {
		content = latin1(encoded.args[0]) // bytes, as Python 3 writes them for Python 2
	}
	pixels, ok := content.([]byte)
	if !ok || len(pixels) != rows*columns {
		return nil, fmt.Errorf(
			"its array has not the %d bytes that its shape asks for",
			rows*columns,
		)
	}
	return pixels, nil
}

// latin1 is a text of characters up to 255 as bytes, one a character, or nothing.
func latin1(text any) any {
	letters, ok := text.([]byte)
	if !ok {
		return nil
	}
	encoded := make([]byte, 0, len(letters))
	for _, letter := range string(letters) {
		if letter > 255 {
			return nil
		}
		encoded = append(encoded, byte(letter))
	}
	return encoded
}
