"""Readers of other people's file formats, without their libraries.

`event`, `crc32c` (TensorBoard), `leveldb` (W&B, SwanLab), `wire` (protocol buffers), `sqlite`,
`jsonlist`, `flow` (arrows of Chrome traces). Promises: a damaged part loses only itself, and the
files are never changed.
"""
