package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/text/encoding/charmap"
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
// texts and numbers in protocols 1 to 5; any other is an error.
//
// The library for this (gopickle) gets as much memory as a file says that it needs, before it reads
// on.
func unpickle(content []byte) (value any, err error) {
	p := pickle{rest: content, memo: map[int]any{}}
	defer func() {
		if broken := recover(); broken != nil {
			known, ok := broken.(brokenPickle)
			if !ok {
				panic(broken)
			}
			at := len(content) - len(p.rest)
			err = fmt.Errorf("not a pickle of arrays: %s at byte %d", string(known), at)
		}
	}()
	for {
		op := p.take(1)[0]
		if op == '.' {
			return p.pop(), nil
		}
		p.do(op)
	}
}

// pickle is a pickle that is being read.
type pickle struct {
	rest  []byte // what is left of it
	stack []any
	memo  map[int]any // the values that it comes back to
}

// brokenPickle is the panic of a pickle that cannot be read.
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

// number takes a little-endian number of width bytes.
func (p *pickle) number(width uint64) uint64 {
	var wide [8]byte
	copy(wide[:], p.take(width))
	return binary.LittleEndian.Uint64(wide[:])
}

// counted takes a number of width bytes, and then as many bytes as it says.
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
func (p *pickle) pop() any { return p.popLast(1)[0] }

// popLast takes so many values off the stack, and returns them in the order in which they came.
func (p *pickle) popLast(count int) []any {
	if count > len(p.stack) {
		panic(brokenPickle("a value is missing"))
	}
	values := slices.Clone(p.stack[len(p.stack)-count:])
	p.stack = p.stack[:len(p.stack)-count]
	return values
}

// popMarked takes the values since the last mark off the stack, and the mark.
func (p *pickle) popMarked() []any {
	for at := len(p.stack) - 1; at >= 0; at-- {
		if _, found := p.stack[at].(mark); found {
			return p.popLast(len(p.stack) - at)[1:]
		}
	}
	panic(brokenPickle("a mark is missing"))
}

// as returns a value as one of a type, which it must be of.
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
	case 'K':
		p.push(int(p.number(1)))
	case 'M':
		p.push(int(p.number(2)))
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
	case 't':
		values := p.popMarked()
		p.push(&values)
	case 0x85, 0x86, 0x87: // TUPLE1 to TUPLE3
		values := p.popLast(int(op) - 0x84)
		p.push(&values)
	case 'a':
		p.extend(p.popLast(1))
	case 'e':
		p.extend(p.popMarked())
	case '}':
		p.push(map[string]any{})
	case 's':
		p.set(p.popLast(2))
	case 'u':
		p.set(p.popMarked())
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
		called := as[*object](p.pop())
		called.state = state
		p.push(called)
	case 'q', 'r', 0x94: // BINPUT, LONG_BINPUT, MEMOIZE
		at := len(p.memo)
		if op != 0x94 {
			at = p.place(op)
		}
		last := p.pop()
		p.push(last)
		p.memo[at] = last
	case 'h', 'j': // BINGET, LONG_BINGET
		value, ok := p.memo[p.place(op)]
		if !ok {
			panic(brokenPickle("a value is missing"))
		}
		p.push(value)
	default:
		panic(brokenPickle(fmt.Sprintf("opcode %q", op)))
	}
}

// extend appends values to the list that is last on the stack.
func (p *pickle) extend(values []any) {
	list := as[*[]any](p.pop())
	*list = append(*list, values...)
	p.push(list)
}

// set sets keys to values, which follow one another, in the dictionary that is last on the stack.
func (p *pickle) set(pairs []any) {
	dictionary := as[map[string]any](p.pop())
	if len(pairs)%2 != 0 {
		panic(brokenPickle("a value is missing"))
	}
	for pair := range slices.Chunk(pairs, 2) {
		dictionary[string(as[[]byte](pair[0]))] = pair[1]
	}
	p.push(dictionary)
}

// place takes the number of a place in the memo: one byte for BINPUT and BINGET, else four.
func (p *pickle) place(op byte) int {
	if op == 'q' || op == 'h' {
		return int(p.number(1))
	}
	return int(p.number(4))
}

// array returns the bytes of a NumPy array of bytes [rows, columns] as a pickle has it.
func array(value any, rows, columns int) ([]byte, error) {
	called, ok := value.(*object)
	if !ok {
		return nil, errors.New("it has no array of images")
	}
	var shape, kind, content any
	byColumns := any(false) // as Fortran has it
	switch called.of {
	case "numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct":
		state, ok := called.state.(*[]any)
		if ok && len(*state) == 5 { // version, shape, type, order, bytes
			shape, kind, byColumns, content = (*state)[1], (*state)[2], (*state)[3], (*state)[4]
		}
	case "numpy.core.numeric._frombuffer", "numpy._core.numeric._frombuffer":
		if len(called.args) == 4 { // bytes, type, shape, order
			content, kind, shape = called.args[0], called.args[1], called.args[2]
			byColumns = !isText(called.args[3], "C")
		}
	default:
		return nil, fmt.Errorf("it calls %.60q, which is never done: arrays of numbers alone are read",
			string(called.of))
	}
	dims, ok := shape.(*[]any)
	if !ok || !slices.Equal(*dims, []any{rows, columns}) {
		return nil, fmt.Errorf("its array is not one of %d images of %d bytes", rows, columns)
	}
	dtype, ok := kind.(*object)
	ofBytes := ok && dtype.of == "numpy.dtype" && len(dtype.args) > 0 && isText(dtype.args[0], "u1")
	if !ofBytes || byColumns != false && byColumns != 0 {
		return nil, errors.New("its array is not one of bytes, row by row")
	}
	encoded, ok := content.(*object)
	if ok && encoded.of == "_codecs.encode" && len(encoded.args) == 2 {
		text, _ := encoded.args[0].([]byte) // bytes, as Python 3 writes them for Python 2
		content, _ = charmap.ISO8859_1.NewEncoder().Bytes(text)
	}
	pixels, ok := content.([]byte)
	if !ok || len(pixels) != rows*columns {
		return nil, fmt.Errorf("its array has not the %d bytes that its shape asks for", rows*columns)
	}
	return pixels, nil
}

// isText reports whether a value is a certain text.
func isText(value any, text string) bool {
	letters, ok := value.([]byte)
	return ok && string(letters) == text
}
