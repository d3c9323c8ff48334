"""What a program finds in place of a tracker: the calls that training scripts make, recorded here.

`rollscope.wandb`, `rollscope.trackio` and `rollscope.swanlab` are these stand-ins, imported by
name; under `rollscope run` they replace a library that is not installed.

Promises: nothing raises into training, nothing is sent anywhere. What is not recorded is printed
once on stderr, and the program goes on.
"""
