"""Runs cells in kernels, as an editor does. A line of standard input is a command in JSON, and the
answer to it a line of standard output:

{"kernel": NAME, "code": CELL, "until": TEXT} runs a cell until its output has the text, if any;
{"kernel": NAME, "wait": true} goes on until it ends;
{"kernel": NAME, "interrupt": true} interrupts it; {"kernel": NAME, "restart": true} restarts it.

An answer has what the cell has written so far, in "text", what its places that are updated show, in
"places", and how often they did, in "updates"; "status" once it has ended."""

import json
import sys

from jupyter_client import KernelManager


class Kernel:
    def __init__(self):
        self.manager = KernelManager(kernel_name="ebsscgo")
        self.manager.start_kernel()
        self.connect()

    def connect(self):
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.client.execute("%noautoget\n!*go mod edit -module ebsscgo/cells", reply=True)

    def run(self, code):
        self.cell = self.client.execute(code)
        self.answer = {"text": "", "places": {}, "updates": 0, "status": ""}

    def follow(self, until):
        while until is None or until not in str(self.answer):
            message = self.client.get_iopub_msg(timeout=120)
            content = message["content"]
            if message["parent_header"].get("msg_id") != self.cell:
                continue
            if content.get("execution_state") == "idle":
                reply = self.client.get_shell_msg(timeout=60)
                while reply["parent_header"].get("msg_id") != self.cell:
                    reply = self.client.get_shell_msg(timeout=60)
                self.answer["status"] = reply["content"]["status"]
                break
            self.take(message["msg_type"], content)

    def take(self, kind, content):
        self.answer["text"] += content.get("text", "") + content.get("evalue", "")
        for form, data in content.get("data", {}).items():
            place = content["transient"].get("display_id")
            if kind == "update_display_data":
                self.answer["updates"] += 1
            if place:
                self.answer["places"][place] = form if form == "image/png" else data
            else:
                self.answer["text"] += data


kernels = {}
for line in sys.stdin:
    command = json.loads(line)
    name = command["kernel"]
    if name not in kernels:
        kernels[name] = Kernel()
    kernel = kernels[name]
    if "restart" in command:
        kernel.client.stop_channels()
        kernel.manager.restart_kernel()
        kernel.connect()
    elif "interrupt" in command:
        kernel.manager.interrupt_kernel()
    else:
        if "code" in command:
            kernel.run(command["code"])
        kernel.follow(command.get("until"))
    print(json.dumps(getattr(kernel, "answer", {})), flush=True)
for kernel in kernels.values():
    kernel.client.stop_channels()
    kernel.manager.shutdown_kernel()
