"""What a server does not know, said to the model in words instead: tools, and the form of the answer."""

from __future__ import annotations

from typing import Any

import msgspec

from sylk_ray.llm.request import ANY_TOOL, AUTO, NO_TOOL, Assistant, Request, Tool, ToolResult, Turn, User

_CALLING = """\
You can call tools. To call one, write a block of this form, with the arguments as one JSON object, and stop after it:
<tool_call>
{"name": "NAME", "arguments": {}}
</tool_call>
The tools:
"""
_HELD = """\
Each of your answers is one call of a tool, as one JSON object and nothing else:
{"name": "NAME", "arguments": {}}
You are then told what came of it. The tools, with what their arguments are:
"""
_MUST = {NO_TOOL: "Call no tool now.", ANY_TOOL: "You must call a tool now."}


def without_schema(request: Request) -> Request:
    """The same, the answer's schema being told in the system prompt."""
    if request.output_schema is None:
        return request
    told = "Answer with one JSON value and nothing else. It must follow this JSON schema:\n" + _json(
        request.output_schema
    )
    return msgspec.structs.replace(request, system=_joined(request.system, told), output_schema=None)


def without_choice(request: Request) -> Request:
    """The same, which tool to call being said instead of chosen."""
    if request.tool_choice in (AUTO, NO_TOOL):
        return request
    told = _MUST.get(request.tool_choice, f"You must call the tool {request.tool_choice} now.")
    return msgspec.structs.replace(request, system=_joined(request.system, told), tool_choice=AUTO)


def without_tools(request: Request) -> Request:
    """The same as a conversation of texts alone, for ``calls_in`` to find the calls in the answer."""
    if not request.tools and all(isinstance(turn, User) for turn in request.messages):
        return request
    lines = [_json({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
             for tool in request.offered]  # fmt: skip
    choice = _MUST.get(request.tool_choice) or (
        "" if request.tool_choice == AUTO else f"You must call the tool {request.tool_choice} now."
    )
    told = _CALLING + "\n".join(lines) + (f"\n{choice}" if choice else "") if lines else ""
    return msgspec.structs.replace(
        request,
        system=_joined(request.system, told),
        messages=tuple(_merged([_in_words(turn) for turn in request.messages])),
        tools=(),
        tool_choice=AUTO,
    )


def held_to_calls(request: Request) -> Request:
    """The same as a conversation of texts, in which each answer is one call by its schema: a server that constrains
    what is written by a schema lets the model write nothing else, also where it does not by the tools themselves."""
    tools = request.offered
    if request.tool_choice in {tool.name for tool in tools}:
        tools = tuple(tool for tool in tools if tool.name == request.tool_choice)
    told = _HELD + "\n".join(f"{tool.name} {_json(_form(tool.parameters))}: {tool.description}" for tool in tools)
    return msgspec.structs.replace(
        request,
        system=_joined(request.system, told),
        messages=tuple(_merged([_as_call(turn) for turn in request.messages])),
        tools=(),
        tool_choice=AUTO,
        output_schema={"anyOf": [_schema_of_call(tool) for tool in tools]},
    )


def _form(schema: dict[str, Any]) -> Any:
    """What stands where in a value, in a tenth of its schema's words; the schema itself holds the model to it."""
    told: str = schema.get("description", "")
    if fields := schema.get("properties"):
        return {name: _form(field) for name, field in fields.items()}
    items: dict[str, Any] = schema.get("items") or {}
    if items.get("properties"):
        return [told, _form(items)] if told else [_form(items)]
    told = told or str(schema.get("type", ""))
    return [told] if schema.get("type") == "array" else told


def _schema_of_call(tool: Tool) -> dict[str, Any]:
    """Lists of objects, which are what a call is about, may be empty and not left out: a small model leaves out what it
    may."""
    fields: dict[str, Any] = tool.parameters.get("properties", {})
    lists = [name for name, field in fields.items() if field.get("items", {}).get("type") == "object"]
    required = dict.fromkeys([*tool.parameters.get("required", ()), *lists])
    arguments = {**tool.parameters, "required": list(required)}
    return {
        "type": "object",
        "properties": {"name": {"const": tool.name}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _as_call(turn: Turn) -> User | Assistant:
    if isinstance(turn, Assistant) and turn.calls:
        return Assistant("\n".join(_json({"name": call.name, "arguments": call.arguments}) for call in turn.calls))
    return _in_words(turn)


def _in_words(turn: Turn) -> User | Assistant:
    if isinstance(turn, ToolResult):
        failed = ' failed="true"' if turn.failed else ""
        return User(f'<tool_response name="{turn.name}"{failed}>\n{turn.text}\n</tool_response>')
    if isinstance(turn, Assistant):
        calls = [f"<tool_call>\n{_json({'name': call.name, 'arguments': call.arguments})}\n</tool_call>"
                 for call in turn.calls]  # fmt: skip
        return Assistant("\n".join([*([turn.text] if turn.text else []), *calls]))
    return turn


def _merged(turns: list[User | Assistant]) -> list[Turn]:
    """Turns of one side after each other as one: many templates of chats want them to alternate."""
    merged: list[Turn] = []
    for turn in turns:
        last = merged[-1] if merged else None
        if isinstance(turn, User) and isinstance(last, User):
            merged[-1] = User(f"{last.text}\n\n{turn.text}")
        else:
            merged.append(turn)
    return merged


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
