"""Sign-in: who asks, what they may do, and the runs they see.

`gate` stands before every route, asks who it is, and gives the route a desk: the library, the list
of runs, the project log and the events of the runs that this person may see (`desks`). So a route
cannot show another run, whatever it does. `needs` says which role a route needs.
"""
