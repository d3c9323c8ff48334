"""Other people's file formats, read without their libraries: TensorBoard records, LevelDB logs, protobuf, SQLite.

Promises: damage costs the damaged part alone; nothing of theirs is changed.
"""
