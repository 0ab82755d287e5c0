"""The HTTP gateway: how the CLI, the web console and other programs speak to a runtime.

``app`` is the FastAPI application, served inside the cell named "gateway"; ``door`` says where it listens and what
opens it; ``client`` is the other end, light enough for a command that must answer at once; ``driver`` is the entry
point of a Ray job that stands for a job of ours on the Ray dashboard. Nothing is imported here: the client and the
driver must not pay for the server.
"""
