"""Drawings for the scripts beside it: shapes, which `relayout show --drawing` writes as SVG. docs/show.md lists their
keys."""
import json
import subprocess


class Drawing:
    """Shapes, from the lowest to the topmost. A colour is a role such as "ink", or "#rrggbb"."""

    def __init__(self, width, title):
        self.width, self.title, self.shapes = width, title, []

    def words(self, x, y, words, size=13, fill="ink", anchor="start", bold=False, mono=False):
        self.shapes.append({"words": words, "at": [x, y], "size": size, "fill": fill, "anchor": anchor, "bold": bold,
                            "mono": mono})

    def box(self, x, y, width, height, **style):
        self.shapes.append({"box": [x, y, width, height], **style})

    def line(self, points, stroke="ink", width=1, **style):
        self.shapes.append({"line": points, "stroke": stroke, "width": width, **style})

    def svg(self, relayout, height):
        """The text of the picture, by the command of that path."""
        whole = {"width": self.width, "height": height, "title": self.title, "shapes": self.shapes}
        done = subprocess.run([relayout, "show", "--drawing", "-"], input=json.dumps(whole), check=True,
                              stdout=subprocess.PIPE, text=True)
        return done.stdout
