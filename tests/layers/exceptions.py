"""What breaks a rule of the check `layers` today, with the reason; a later change empties this table.

A key is the rule and what the finding is about, as the check prints it: the modules of a circle, a file, or a file with
a function of it. A finding that is listed is not reported; one that is listed and not found is a finding itself.
"""

EXCEPTIONS = {
    ("cycle", "reorder/in_place reorder/in_place_data reorder/in_place_steps"):
        "the helpers of in-place steps know the steps' types, which stand in the public header",
    ("cycle", "reorder/refine reorder/refine_dim"): "the limits of tables stand in refine.h; it becomes a folder",
    ("line", "relayout/cpu/CMakeLists.txt"): "a generator expression; the file changes with the build of the kernels",
}
