"""One settings tree, from a file, the environment and flags.

``SYLK_HOME`` (or ``--home``) names the state directory; ``<home>/settings.yaml`` and ``SYLK_*`` variables set the
rest, the environment winning. Every process of the runtime gets the same frozen ``Settings``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

import msgspec
import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from sylk_ray.errors import InputError
from sylk_ray.fairness import Group, InvalidGroup
from sylk_ray.home import SETTINGS, default_home


def _group_of(given: object) -> Group:
    try:
        return msgspec.convert(given, Group)
    except msgspec.ValidationError as problem:
        raise ValueError(str(problem)) from problem
    except InvalidGroup as problem:
        raise ValueError(f"{problem.message} ({problem.hint})") from problem


GroupSetting = Annotated[Group, PlainValidator(_group_of), PlainSerializer(msgspec.to_builtins)]

PROVIDER = r"^[a-z0-9][a-z0-9._-]{0,62}$"


class Provider(BaseModel):
    """The limits of a provider of models, over all sessions; what is left out has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    calls: Annotated[int, Field(ge=1)] | None = None
    """At once."""
    tokens_per_minute: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Input and output together."""


_LOOPBACK = re.compile(r"localhost|127(\.\d+){3}|::1")
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Model(BaseModel):
    """A model that agents may think with, and what is to be known of it.

    Its key is never written here: ``api_key_env`` names an environment variable, ``api_key_file`` a file that nobody
    else may read.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    provider: Literal["openai", "anthropic", "replay"] = "openai"
    """What is spoken: OpenAI's chat completions (so do vLLM, Ollama, llama.cpp, LM Studio and OpenRouter), Anthropic's
    messages, or nothing, answers being read from a recording."""
    base_url: str = ""
    """Up to what comes before ``/chat/completions`` or ``/messages``; without it the provider's own."""
    model: str = ""
    """As the provider calls it."""
    api_key_env: str = ""
    api_key_file: Path | None = None
    insecure: bool = False
    """Whether it may be reached by plain HTTP beyond this machine, where others can read the key and what is said."""
    context_window: Annotated[int, Field(ge=512)] | None = None
    """Tokens, input and output together."""
    max_tokens: Annotated[int, Field(ge=1)] = 4096
    """Of one reply, where the request does not say."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """Where the request does not say; without it the provider's own."""
    always_calls: bool = False
    """Whether each answer is held to one call of a tool, by a schema of all calls that there can be. Small models
    otherwise tell what they would do; large ones think better when they may speak first."""
    price_in: Price | None = None
    """Of a million tokens, in any one currency."""
    price_out: Price | None = None
    price_cached: Price | None = None
    """Of a million input tokens that the provider had cached; without it ``price_in``."""
    concurrency: Annotated[int, Field(ge=1)] | None = None
    """Calls at once, over all sessions."""
    tokens_per_minute: Positive | None = None
    """Input and output together, over all sessions."""
    limits_of: Annotated[str, Field(pattern=f"^$|{PROVIDER}")] = ""
    """An entry of ``providers`` whose limits it shares with other models, instead of its own."""
    first_token_s: Positive = 300.0
    """How long the first token may take: a slow machine reads a long prompt for minutes."""
    stall_s: Positive = 60.0
    """How long a reply that has begun may stand still."""
    record: Path | None = None
    """A file that exchanges are added to, without keys."""
    recording: Path | None = None
    """What ``provider: replay`` answers from."""

    @model_validator(mode="before")
    @classmethod
    def _no_key(cls, given: Any) -> Any:
        for name in ("api_key", "key", "token") if isinstance(given, dict) else ():
            if name in given:
                raise ValueError(
                    f"{name}: a key is not kept in the settings; put it into an environment variable and name that in "
                    "api_key_env, or into a file of mode 0600 and name that in api_key_file"
                )
        return given  # pyright: ignore[reportUnknownVariableType]

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.api_key_env and not _ENVIRONMENT_NAME.fullmatch(self.api_key_env):
            raise ValueError("api_key_env: this is no name of an environment variable; is it the key itself?")
        if self.api_key_env and self.api_key_file:
            raise ValueError("api_key_env and api_key_file are both given: which one holds the key?")
        if self.provider == "replay":
            if self.recording is None:
                raise ValueError("recording: a replay needs the file that it answers from")
        elif not self.model:
            raise ValueError("model: say what the provider calls it")
        for name in ("api_key_file", "record", "recording"):
            path: Path | None = getattr(self, name)
            if path is not None and not path.expanduser().is_absolute():
                raise ValueError(f"{name}: give the whole path; the runtime's processes have folders of their own")
        if self.base_url:
            _check_address(self.base_url, insecure=self.insecure)
        if self.limits_of and (self.concurrency or self.tokens_per_minute):
            raise ValueError("limits_of: the model's own concurrency and tokens_per_minute would not hold")
        return self


def _check_address(base_url: str, *, insecure: bool) -> None:
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("base_url: give an address such as http://127.0.0.1:11434/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("base_url: give no user, password, query or fragment with it")
    if parts.scheme == "http" and not insecure and not _LOOPBACK.fullmatch(parts.hostname):
        raise ValueError(f"base_url: {parts.hostname} is another machine; use https, or say `insecure: true`")


def _names_of(given: object) -> object:
    return (given,) if isinstance(given, str) else given


Chain = Annotated[tuple[str, ...], BeforeValidator(_names_of), Field(min_length=1)]


class EmbeddingService(BaseModel):
    """A service that embeds: any OpenAI-compatible ``/embeddings``. Without a ``base_url`` the built-in one is used."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: Annotated[str, Field(pattern=r"^$|^https?://")] = ""
    model: str = ""
    api_key_env: str = ""
    """The environment variable that holds its key."""
    dimensions: Annotated[int, Field(ge=16, le=8192)] | None = None
    """Asked of the service; without it the model's own are taken."""
    timeout_s: Annotated[float, Field(gt=0)] = 60.0


class Knowledge(BaseModel):
    """How what is known of code is kept: ``{vectors: "https://qdrant.example:6333", embedder: {base_url: …}}``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    vectors: Annotated[str, Field(pattern=r"^$|^https?://")] = ""
    """The URL of a Qdrant server or cluster; without it vectors are kept in the state directory. Its key is read from
    the environment's ``QDRANT_API_KEY``."""
    embedder: EmbeddingService = EmbeddingService()


class Settings(BaseSettings):
    """How a runtime behaves. Times are seconds, sizes are in the unit that their name says."""

    model_config = SettingsConfigDict(env_prefix="SYLK_", extra="forbid", frozen=True, hide_input_in_errors=True)

    home: Path = Field(default_factory=default_home)
    density: Literal["packed", "session", "dedicated"] = "packed"
    """How agents share processes: ``packed`` about a cell a CPU, ``session`` cells of the session's own,
    ``dedicated`` a Ray actor an agent."""
    cells: Annotated[int, Field(ge=0)] = 0
    """Packed cells at most; 0 means one a CPU."""
    warm_cells: Annotated[int, Field(ge=0, le=64)] = 1
    """Idle cells kept ready to adopt."""
    group_slack: Annotated[int, Field(ge=1)] = 8
    """Under ``packed``, how many more groups than the emptiest cell a session's home cell may hold before the
    session's next group goes elsewhere."""
    dedicated_agents: Annotated[int, Field(ge=4)] = 128
    """Under ``dedicated``, the agents that a session's placement group has room for."""
    placement_timeout_s: Annotated[float, Field(gt=0)] = 60.0
    mailbox_bound: Annotated[int, Field(ge=1)] = 1000
    idle_s: Annotated[float, Field(gt=0)] = 300.0
    """Agents without mail for this long are put away; their state stays."""
    metrics_every_s: Annotated[float, Field(gt=0)] = 2.0
    watchdog_report_s: Annotated[float, Field(gt=0)] = 0.25
    """A loop that is blocked for longer is reported with the agent that blocks it."""
    max_sessions: Annotated[int, Field(ge=1)] = 100
    gateway_port: Annotated[int, Field(ge=0, le=65535)] = 0
    """Where the HTTP gateway listens on 127.0.0.1; 0 means a free port."""
    journal_durability: Literal["process", "power"] = "process"
    """What a commit survives: the death of any process, or a power cut as well (an fsync each)."""
    cell_silence_s: Annotated[float, Field(gt=0)] = 30.0
    """A cell that answers nothing for this long is taken for dead, and replaced."""
    session_restarts: Annotated[int, Field(ge=1)] = 10
    """How often a session's cells may die within a minute before the session is given up."""
    session_defaults: GroupSetting = Group()
    """The weight and limits of a session that is not given its own."""
    max_pipelines: Annotated[int, Field(ge=1)] = 200
    """Pipelines at work at once, over all sessions."""
    role_limits: dict[str, Annotated[int, Field(ge=1)]] = {}
    """Agents of a role at work at once, over all sessions: ``{engineer: 10}``."""
    cpu_slots: Annotated[float, Field(ge=0)] = 0
    """Tool processes at once, over all sessions; 0 means ``cpu_slots_per_cpu`` a CPU."""
    cpu_slots_per_cpu: Annotated[float, Field(gt=0)] = 2.0
    providers: dict[Annotated[str, Field(pattern=PROVIDER)], Provider] = {}
    """What each provider of models bears: ``{anthropic: {calls: 8, tokens_per_minute: 400000}}``."""
    models: dict[Annotated[str, Field(pattern=PROVIDER)], Model] = {}
    """What agents may think with: ``{fast: {base_url: "http://127.0.0.1:11434/v1", model: qwen3}}``. None is fine."""
    model_for: dict[str, Chain] = {}
    """By role or category the models to use, each in place of those before it that do not answer:
    ``{architect: [large, fast], quick: fast, default: fast}``. ``default`` is for all that are not named; without it,
    they use the models in the order in which they are written."""
    hooks: dict[str, bool] = {}
    """Which hooks are on: ``{context-injector: false}``. A hook that is not named is as it was declared."""
    repository_skills: bool = False
    """Whether agents get the skills that a repository brings in ``.sylk/skills``: its code then runs with the rights of
    the runtime."""
    knowledge: Knowledge = Knowledge()
    """Where vectors are kept, and what embeds."""
    system_agents: list[str] = []
    """Roles of shared agents to start with the runtime, beyond those that it needs."""
    incarnation: str = ""
    """Which start of the runtime this is; set by whoever starts it."""
    extra_roles: dict[str, str] = {}
    """Roles beyond the installed ones, as ``module:Class``."""

    @model_validator(mode="after")
    def _models_are_there(self) -> Self:
        for name, model in self.models.items():
            if model.limits_of and model.limits_of not in self.providers:
                raise ValueError(f"models.{name}.limits_of: {model.limits_of} is not among the providers")
            if name in self.providers and (model.concurrency or model.tokens_per_minute):
                raise ValueError(f"models.{name}: limits are given here and in providers.{name}; give them once")
        for role, chain in self.model_for.items():
            if unknown := [name for name in chain if name not in self.models]:
                raise ValueError(f"model_for.{role}: {unknown[0]} is not among the models")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags over environment over file."""
        file = InitSettingsSource(settings_cls, _written_in(default_home() / SETTINGS))
        return init_settings, env_settings, file


def _written_in(file: Path) -> dict[str, Any]:
    """What a file sets; nothing where there is none. Raises InputError that names the line."""
    content = b""
    try:
        content = file.read_bytes() if file.is_file() else b""
        given = yaml.safe_load(content.decode("utf-8-sig"))
    except OSError as problem:
        raise InputError(f"{file} cannot be read: {problem.strerror}", hint="look at its permissions") from problem
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise InputError(f"{file}:{line}: this is no UTF-8", hint="save it as UTF-8") from problem
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 1
        told = ", ".join(each for each in (problem.context, problem.problem) if each)
        raise InputError(f"{file}:{line}: this is no YAML: {told}", hint="mend the line, or one before it") from problem
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        raise InputError(f"{file}: this is no YAML: {str(problem).splitlines()[0]}", hint="mend the file") from problem
    if given is None:
        return {}
    if not isinstance(given, dict) or not all(isinstance(name, str) for name in given):  # pyright: ignore[reportUnknownVariableType]
        raise InputError(f"{file}:1: settings are of the form `name: value`", hint="write one setting a line")
    return given  # pyright: ignore[reportUnknownVariableType]


def load_settings(**flags: object) -> Settings:
    """The settings that hold here; flags that are None are not given. Raises InputError naming the setting."""
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]
    except SettingsError as problem:
        raise InputError(
            f"a setting is wrong: {problem}", hint="look at the environment's SYLK_* variables"
        ) from problem
    except ValidationError as problem:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in problem.errors())
        raise InputError(f"a setting is wrong: {wrong}", hint=f"look in {default_home() / SETTINGS}") from problem
