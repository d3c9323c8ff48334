"""Read a file that may be hostile in a process that can do nothing but read it.

Door: `reader` for the importer, `limits` for who sets limits. `child` is the program of that
process, `lockdown` and `landlock` take its rights away, `frames` is what it sends over a pipe.

Promises: the process has no network, writes no file, starts no program, and reads only the imported
folder and its own libraries where the kernel can enforce that (Linux 5.13). Memory, time and output
grow at most in proportion to the size of the file. A file that goes beyond costs itself alone, with
a sentence.
"""
