"""Both protocols from the server's side: a body as a request, and pieces as the events that a client reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sylk_ray.llm import (
    Assistant,
    Call,
    CallPiece,
    Piece,
    Request,
    StopPiece,
    TextPiece,
    ThoughtPiece,
    Tool,
    ToolResult,
    Turn,
    Usage,
    UsagePiece,
    User,
)
from sylk_ray.llm.anthropic_messages import ANSWER

Event = dict[str, Any]


def from_openai(body: Event) -> Request:
    system, messages = "", []
    names: dict[str, str] = {}
    for each in body["messages"]:
        if each["role"] == "system":
            system = each["content"]
        elif each["role"] == "user":
            messages.append(User(each["content"]))
        elif each["role"] == "tool":
            messages.append(ToolResult(each["tool_call_id"], names[each["tool_call_id"]], each["content"]))
        else:
            calls = tuple(
                Call(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
                for call in each.get("tool_calls", ())
            )
            names |= {call.id: call.name for call in calls}
            messages.append(Assistant(each["content"] or "", calls))
    choice = body.get("tool_choice", "auto")
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    tools = tuple(
        Tool(each["function"]["name"], each["function"].get("description", ""), each["function"]["parameters"])
        for each in body.get("tools", ())
    )
    return Request(
        messages=tuple(messages),
        system=system,
        tools=tools,
        tool_choice=choice if isinstance(choice, str) else choice["function"]["name"],
        output_schema=schema,
        max_tokens=body.get("max_tokens"),
        temperature=body.get("temperature"),
        stop=tuple(body.get("stop", ())),
    )


def to_openai(pieces: Sequence[Piece]) -> Iterator[bytes]:
    def chunk(delta: Event, reason: str | None = None) -> bytes:
        return _event({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield chunk({"role": "assistant", "content": ""})
    usage = None
    for piece in pieces:
        if isinstance(piece, TextPiece):
            yield chunk({"content": piece.text})
        elif isinstance(piece, ThoughtPiece):
            yield chunk({"reasoning_content": piece.text})
        elif isinstance(piece, CallPiece):
            call: Event = {"index": piece.index, "function": {"arguments": piece.arguments}}
            if piece.name:
                call |= {"id": piece.id, "type": "function"}
                call["function"]["name"] = piece.name
            yield chunk({"tool_calls": [call]})
        elif isinstance(piece, UsagePiece):
            usage = piece.usage
        elif isinstance(piece, StopPiece):
            reasons = {"calls": "tool_calls", "length": "length", "refused": "content_filter"}
            yield chunk({}, reasons.get(piece.reason, "stop"))
    if usage is not None:
        told = {"prompt_tokens": usage.input, "completion_tokens": usage.output}
        yield _event({"choices": [], "usage": {**told, "prompt_tokens_details": {"cached_tokens": usage.cached}}})
    yield b"data: [DONE]\n\n"


def to_openai_document(pieces: Sequence[Piece]) -> Event:
    text = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
    calls: dict[int, Event] = {}
    for piece in pieces:
        if isinstance(piece, CallPiece):
            call = calls.setdefault(piece.index, {"id": piece.id, "function": {"name": piece.name, "arguments": ""}})
            call["function"]["arguments"] += piece.arguments
    message = {"role": "assistant", "content": text, "tool_calls": list(calls.values())}
    usage = {"prompt_tokens": 9, "completion_tokens": 3}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}


def from_anthropic(body: Event) -> Request:
    messages: list[Turn] = []
    names: dict[str, str] = {}
    for each in body["messages"]:
        text, calls = "", []
        for block in each["content"]:
            if block["type"] == "tool_result":
                result = ToolResult(block["tool_use_id"], names[block["tool_use_id"]], block["content"])
                messages.append(result)
            elif block["type"] == "tool_use":
                calls.append(Call(block["id"], block["name"], block["input"]))
                names[block["id"]] = block["name"]
            elif each["role"] == "user":
                messages.append(User(block["text"]))
            else:
                text = block["text"]
        if each["role"] == "assistant":
            messages.append(Assistant(text, tuple(calls)))
    tools = {tool["name"]: tool for tool in body.get("tools", ())}
    answer = tools.pop(ANSWER, None)
    choice = body.get("tool_choice", {"type": "auto"})
    kind = {"any": "required", "tool": choice.get("name")}.get(choice["type"], choice["type"])
    schema = answer and answer["input_schema"]
    if schema and set(schema["properties"]) == {"value"}:
        schema = schema["properties"]["value"]
    return Request(
        messages=tuple(messages),
        system="".join(block["text"] for block in body.get("system", ())),
        tools=tuple(Tool(name, tool["description"], tool["input_schema"]) for name, tool in tools.items()),
        tool_choice=kind if tools and kind != ANSWER else "auto",
        output_schema=schema,
        max_tokens=body["max_tokens"],
        temperature=body.get("temperature"),
        stop=tuple(body.get("stop_sequences", ())),
    )


def to_anthropic(pieces: Sequence[Piece], request: Request) -> Iterator[bytes]:
    usage = next((piece.usage for piece in reversed(pieces) if isinstance(piece, UsagePiece)), Usage())
    told = {"input_tokens": usage.input - usage.cached, "cache_read_input_tokens": usage.cached, "output_tokens": 1}
    yield _named({"type": "message_start", "message": {"role": "assistant", "content": [], "usage": told}})
    yield _named({"type": "ping"})
    index, opened = -1, None
    for piece in pieces:
        if not isinstance(piece, (TextPiece, ThoughtPiece, CallPiece)):
            continue
        kind = (type(piece), piece.index if isinstance(piece, CallPiece) else 0)
        if kind != opened:
            if opened is not None:
                yield _named({"type": "content_block_stop", "index": index})
            index, opened = index + 1, kind
            yield _named({"type": "content_block_start", "index": index, "content_block": _block(piece, request)})
        yield _named({"type": "content_block_delta", "index": index, "delta": _delta(piece, request)})
    if opened is not None:
        yield _named({"type": "content_block_stop", "index": index})
    reason = next((piece.reason for piece in pieces if isinstance(piece, StopPiece)), "end")
    answered = request.output_schema is not None and reason == "end"
    reasons = {"calls": "tool_use", "length": "max_tokens", "stop": "stop_sequence", "refused": "refusal"}
    stop = {"stop_reason": "tool_use" if answered else reasons.get(reason, "end_turn")}
    yield _named({"type": "message_delta", "delta": stop, "usage": {"output_tokens": usage.output}})
    yield _named({"type": "message_stop"})


def _block(piece: Piece, request: Request) -> Event:
    if isinstance(piece, CallPiece):
        return {"type": "tool_use", "id": piece.id, "name": piece.name, "input": {}}
    if isinstance(piece, ThoughtPiece):
        return {"type": "thinking", "thinking": "", "signature": ""}
    if request.output_schema is not None:
        return {"type": "tool_use", "id": "toolu_answer", "name": ANSWER, "input": {}}
    return {"type": "text", "text": ""}


def _delta(piece: Piece, request: Request) -> Event:
    if isinstance(piece, CallPiece):
        return {"type": "input_json_delta", "partial_json": piece.arguments}
    if isinstance(piece, ThoughtPiece):
        return {"type": "thinking_delta", "thinking": piece.text}
    assert isinstance(piece, TextPiece)
    if request.output_schema is not None:
        return {"type": "input_json_delta", "partial_json": piece.text}
    return {"type": "text_delta", "text": piece.text}


def _event(data: Event) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def _named(data: Event) -> bytes:
    return f"event: {data['type']}\n".encode() + _event(data)
