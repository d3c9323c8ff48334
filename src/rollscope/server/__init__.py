"""HTTP over store, views and findings. A handler parses, asks a view, replies.

`app` lists the resources, `library` keeps runs open, `security` guards the door, `shapes` types the answers.
`routes/` has one file a resource.
"""
