"""HTTP over store, views and findings. A handler parses, asks a view, replies.

`app` lists the resources, `library` keeps runs open, `doctor` diagnoses them, `watcher` sends
events, `security` guards the door, `shapes` types the replies. `routes/` has one file per resource,
`questions/` answers SQL and exports in processes that can be stopped, `front/` limits requests,
`sign_in/` asks who asks.
"""
