"""relayout, asked through the program special_values_cases."""
import subprocess
from pathlib import Path

import numpy


class Ours:
    def __init__(self, program, folder):
        self.folder = Path(folder)
        self.program, self.names = program, {}
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def __call__(self, model, inputs, outputs, ways):
        """By way: its outputs, or why there are none ("refused: ...", "wrong: ...")."""
        for old in self.folder.glob("*.out"):
            old.unlink()
        (self.folder / "model.onnx").write_bytes(model.SerializeToString())
        for name, array in inputs.items():
            (self.folder / (name + ".in")).write_bytes(array.tobytes())
        print("%s\t%s" % (self.folder, ",".join(ways)), file=self.process.stdin, flush=True)
        out, self.names = {}, {}
        while True:
            line = self.process.stdout.readline().rstrip("\n")
            if line == "done":
                return out
            if not line:
                code = self.process.wait()
                self.start()
                return {**out, **{way: "wrong: the program ended with %d" % code for way in ways if way not in out}}
            way, verdict, *why = line.split("\t")
            self.names[way] = why[0] if why else ""
            out[way] = self.read(way, outputs) if verdict == "ok" else "%s: %s" % (verdict, " ".join(why))

    def read(self, way, outputs):
        arrays = []
        for i, value in enumerate(outputs):
            data = (self.folder / ("%s.%d.out" % (way, i))).read_bytes()
            if len(data) != int(numpy.prod(value.shape)) * value.dtype.itemsize:
                return "wrong: output %d has %d bytes" % (i, len(data))
            arrays.append(numpy.frombuffer(data, value.dtype).reshape(value.shape))
        return arrays
