"""What each command is told: its arguments, options and help. One command a file.

Promises: these files import neither numpy nor anything that does, so that help and completion are quick. What a command does
is in the module of the same name above, in a function of the same name and parameters, imported when the command runs.
"""
