"""How definitions begin in the languages without a grammar, as data. See ``definitions`` for what is made of it."""

from __future__ import annotations

from sylk_ray.codebase.outline import SymbolKind
from sylk_ray.codebase.reading.definitions import Beginning, LineRules
from sylk_ray.codebase.reading.source import HASHES, SLASHES, CommentStyle

_DASHES = CommentStyle(line=("--",), block=("/*", "*/"))
_SEMICOLONS = CommentStyle(line=(";",), block=("#|", "|#"))
_STARS = CommentStyle(line=("//",), block=("(*", "*)"))
_DOTTED = r"[\w$]+(?:\.[\w$]+)*"
_COLONS = r"[\w$]+(?:::[\w$]+)*"


def _function(pattern: str, until: str = "") -> Beginning:
    return _beginning(SymbolKind.FUNCTION, pattern, until)


def _type(pattern: str, until: str = "") -> Beginning:
    return _beginning(SymbolKind.TYPE, pattern, until)


def _module(pattern: str, until: str = "") -> Beginning:
    return _beginning(SymbolKind.MODULE, pattern, until)


def _constant(pattern: str, until: str = "") -> Beginning:
    return _beginning(SymbolKind.CONSTANT, pattern, until)


def _beginning(kind: SymbolKind, pattern: str, until: str) -> Beginning:
    return Beginning(kind, pattern, until)


def _rules(
    comments: CommentStyle,
    *beginnings: Beginning,
    package: str = "",
    imports: str = "",
    hidden: str = "",
    clauses: bool = False,
) -> LineRules:
    return LineRules(beginnings, comments, package=package, imports=imports, hidden=hidden, clauses=clauses)


_SQL_PART = r"(?:\"[^\"]+\"|`[^`]+`|\[[^\]]+\]|[\w$]+)"
_SQL_NAME = rf"({_SQL_PART}(?:\.{_SQL_PART})*)"
_SQL_MAKES = (
    r"(?i)create\s+(?:or\s+(?:replace|alter)\s+)?(?:definer\s*=\s*\S+\s+)?"
    r"(?:(?:global|local|temp|temporary|unlogged|external|unique)\s+)*"
)
_SQL_UNLESS = r"\s+(?:concurrently\s+)?(?:if\s+not\s+exists\s+)?"
_SQL_ENDS = r";\s*(?:--.*)?$"
_GROOVY_MODIFIERS = r"(?:(?:public|private|protected|static|final|abstract|synchronized|@\w+(?:\([^)]*\))?)\s+)*"
_D_MODIFIERS = (
    r"(?:(?:public|private|protected|package|static|final|abstract|override|pure|nothrow|extern(?:\(\w+\))?|export|const"
    r"|immutable|inout|shared|ref|auto|@\w+)\s+)*"
)
_NOT_A_NAME = (
    r"(?!(?:if|else|for|foreach|while|switch|return|catch|throw|new|in|case|do|with|mixin|assert|import|using)\b)"
)
_LISP = r"[^\s()\[\]{}\"';]+"

LINE_RULES: dict[str, LineRules] = {
    "ada": _rules(
        CommentStyle(line=("--",), block=None),
        _module(rf"(?i:package)\s+(?i:body\s+)?({_DOTTED})\s+(?i:is)\b"),
        _type(r"(?i:type|subtype|protected(?:\s+type)?|task(?:\s+type)?)\s+(?i:body\s+)?(\w+)"),
        _function(r"(?i:overriding\s+)?(?i:procedure|function)\s+(\w+|\"[^\"]+\")"),
        imports=rf"(?i:with)\s+({_DOTTED})",
    ),
    "clojure": _rules(
        CommentStyle(line=(";",), block=None),
        _function(rf"\((?:[\w.]+/)?(?:defn-?|defmacro|defmulti|defmethod|deftest|definline)\s+(?:\^\S+\s+)*({_LISP})"),
        _type(rf"\((?:[\w.]+/)?(?:defprotocol|defrecord|deftype|definterface|defstruct)\s+(?:\^\S+\s+)*({_LISP})"),
        _constant(rf"\((?:[\w.]+/)?(?:def|defonce|s/def)\s+(?:\^\S+\s+)*({_LISP})"),
        package=rf"\(ns\s+(?:\^\S+\s+)*({_LISP})",
        imports=rf".*?\(:require\s+\[?({_LISP})|\[([a-z][\w.-]*\.[\w.-]+)\s+:(?:as|refer)\b",
        hidden=r"\(defn-|\^:private",
    ),
    "coffeescript": _rules(
        HASHES,
        _type(rf"class\s+(?:@?{_DOTTED}\.)?(\w+)"),
        _function(r"(?:exports\.|module\.exports\.|@)?([\w$]+)\s*[:=]\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?[-=]>"),
        imports=r".*?\brequire[\s(]+['\"]([^'\"]+)|import\s.*?['\"]([^'\"]+)",
        hidden=r"^_",
    ),
    "crystal": _rules(
        HASHES,
        _type(r"(?:private\s+)?(?:abstract\s+)?(?:class|struct|enum|lib|annotation|union)\s+([A-Z]\w*(?:::\w+)*)"),
        _module(r"(?:private\s+)?module\s+([A-Z]\w*(?:::\w+)*)"),
        _function(r"(?:(?:private|protected|abstract)\s+)*(?:def|macro|fun)\s+(?:self\.)?([\w]+[?!=]?|[^\s\w(]+)"),
        _constant(r"(?:alias\s+)?([A-Z][A-Z\d_]+|(?<=alias )\w+)\s*="),
        imports=r"require\s+\"([^\"]+)",
        hidden=r"^(?:private|protected)\b",
    ),
    "d": _rules(
        CommentStyle(line=("//",), block=("/*", "*/")),
        _type(rf"{_D_MODIFIERS}(?:class|struct|interface|union|enum|template|alias)\s+(\w+)(?!\s*\()"),
        _type(rf"{_D_MODIFIERS}(?:class|struct|interface|union|template)\s+(\w+)\s*\("),
        _function(rf"{_D_MODIFIERS}{_NOT_A_NAME}(?:[\w.!\[\]*]+(?:\([^()]*\))?[\s*]+)?{_NOT_A_NAME}(\w+)\s*\([^;]*$"),
        _function(r"(this|~this|unittest)\b"),
        package=rf"module\s+({_DOTTED})",
        imports=rf"(?:(?:public|static)\s+)*import\s+(?:\w+\s*=\s*)?({_DOTTED})",
        hidden=r"^(?:\w+\s+)*?private\b",
    ),
    "elm": _rules(
        CommentStyle(line=("--",), block=("{-", "-}")),
        _type(r"type\s+(?:alias\s+)?(\w+)"),
        _function(r"(?!(?:type|import|module|port|if|else|case|let|in)\b)([a-z]\w*)(?=[\s\w'()_,.{}]*(?::|=))"),
        package=rf"(?:port\s+)?module\s+({_DOTTED})",
        imports=rf"import\s+({_DOTTED})",
        clauses=True,
    ),
    "erlang": _rules(
        CommentStyle(line=("%",), block=None, attribute=("-spec",)),
        _type(r"-(?:record|type|opaque)\s*\(?\s*(\w+)"),
        _constant(r"-define\(\s*(\w+)"),
        _function(r"([a-z]\w*|'[^']+')\s*\([^)]*(?:\)|$)(?!\s*\.)"),
        package=r"-module\(\s*(\w+)",
        imports=r"-(?:include|include_lib|import|behaviou?r)\(\s*\"?([\w./]+)",
        clauses=True,
    ),
    "fish": _rules(HASHES, _function(r"function\s+([\w.:-]+)"), imports=r"source\s+(\S+)"),
    "fortran": _rules(
        CommentStyle(line=("!",), block=None),
        _module(
            r"(?i:(?:sub)?module|program)\s+(?!procedure\b)(?:\([^)]*\)\s*)?(\w+)",
            r"(?i)^\s*end\s*(?:(?:sub)?module|program|$)",
        ),
        _type(r"(?i:type|interface)(?:\s*,[^:]*)?(?:\s*::)?\s+(?!is\b)(\w+)\s*$", r"(?i)^\s*end\s*(?:type|interface)"),
        _function(
            r"(?i:(?!end)(?:[\w()=*,]+\s+)*?(?:subroutine|function))\s+(\w+)",
            r"(?i)^\s*end\s*(?:subroutine|function|$|!)",
        ),
        imports=r"(?i:use)\s*(?:,[^:]*::)?\s*(\w+)",
    ),
    "fsharp": _rules(
        _STARS,
        _type(r"(?:type|and|exception)\s+(?:(?:private|internal|public)\s+)?(\w+)(?=.*[=(:]|\s*$|\s+of\b)"),
        _module(rf"module\s+(?:(?:rec|private|internal|public)\s+)*({_DOTTED})\s*=\s*$"),
        _function(
            r"(?:(?:static|override|abstract|default|member|inline|private|internal)\s+)*(?:member|abstract|override|default)"
            r"\s+(?:inline\s+|private\s+|val\s+)*(?:\w+\.)?(\w+)"
        ),
        _function(
            r"let\s+(?:(?:rec|inline|private|internal|mutable)\s+)*(?!(?:rec|inline|private|internal|mutable)\b)(\w+|\(\|[^)]*\|\))(?:\s+[\w(<'\[{?_]|<)[^=]*(?:=|$)"
        ),
        _constant(r"let\s+(?:(?:private|internal|mutable)\s+)*(\w+)\s*(?::[^=]*)?="),
        package=rf"(?:namespace|module)\s+(?:rec\s+)?({_DOTTED})\s*$",
        imports=rf"open\s+(?:type\s+)?({_DOTTED})",
        hidden=r"\bprivate\b",
    ),
    "gdscript": _rules(
        HASHES,
        _type(r"(?:class|enum)\s+(\w+)"),
        _function(r"(?:static\s+)?func\s+(\w+)"),
        _constant(r"(?:@\w+(?:\([^)]*\))?\s+)*(?:const|var|signal)\s+(\w+)"),
        package=r"class_name\s+(\w+)",
        imports=r".*\b(?:preload|load)\(\"([^\"]+)|extends\s+\"([^\"]+)",
        hidden=r"(?:func|var|const)\s+_",
    ),
    "gleam": _rules(
        SLASHES,
        _type(r"(?:pub\s+)?(?:opaque\s+)?type\s+(\w+)"),
        _function(r"(?:pub\s+)?fn\s+(\w+)"),
        _constant(r"(?:pub\s+)?const\s+(\w+)"),
        imports=r"import\s+([\w/]+)",
        hidden=r"^(?!pub\b)",
    ),
    "glsl": _rules(
        SLASHES,
        _type(r"(?:struct|cbuffer)\s+(\w+)"),
        _function(rf"(?:@\w+(?:\([^)]*\))?\s+)*fn\s+(\w+)|{_NOT_A_NAME}(?:\w+\s+)+{_NOT_A_NAME}(\w+)\s*\([^;]*$"),
        imports=r"#\s*include\s+[\"<]([^\">]+)",
    ),
    "graphql": _rules(
        HASHES,
        _type(r"(?:extend\s+)?(?:type|interface|input|enum|union|scalar)\s+(\w+)"),
        _function(r"(?:query|mutation|subscription|fragment|directive)\s+(@?\w+)"),
        imports=r"#\s*import\s+['\"]([^'\"]+)",
    ),
    "groovy": _rules(
        SLASHES,
        _type(rf"{_GROOVY_MODIFIERS}(?:class|interface|enum|trait|@interface|record)\s+(\w+)"),
        _function(
            rf"{_GROOVY_MODIFIERS}(?:def|void|[\w.]+(?:<[^()]*>)?(?:\[\])?)\s+{_NOT_A_NAME}(\w+|'[^']+'|\"[^\"]+\")\s*\([^;]*\{{\s*$"
        ),
        _function(r"(?:task|tasks\.register\(|tasks\.create\()\s*['\"]?(\w+)"),
        package=rf"package\s+({_DOTTED})",
        imports=rf"import\s+(?:static\s+)?({_DOTTED})",
        hidden=r"\bprivate\b",
    ),
    "haxe": _rules(
        SLASHES,
        _type(r"(?:(?:private|extern|final|abstract)\s+)*(?:class|interface|enum|typedef|abstract)\s+(\w+)"),
        _function(
            r"(?:(?:public|private|static|override|inline|macro|dynamic|final|@:?\w+(?:\([^)]*\))?)\s+)*function\s+(\w+)"
        ),
        package=rf"package\s+({_DOTTED})",
        imports=rf"(?:import|using)\s+({_DOTTED})",
        hidden=r"\bprivate\b",
    ),
    "julia": _rules(
        CommentStyle(line=("#",), block=('"""', '"""')),
        _type(r"(?:mutable\s+)?struct\s+(\w+)|(?:abstract|primitive)\s+type\s+(\w+)"),
        _function(rf"(?:@\w+\s+)*(?:function|macro)\s+((?:{_DOTTED}\.)?[\w!]+)"),
        _function(
            rf"(?:@inline\s+)?((?:{_DOTTED}\.)?[a-z_][\w!]*)(?:\{{[^}}]*\}})?\([^=]*\)(?:\s*::\s*\S+)?(?:\s+where\s+\S+)?\s*=(?!=)"
        ),
        _constant(r"const\s+(\w+)"),
        package=r"(?:bare)?module\s+(\w+)",
        imports=rf"(?:using|import)\s+(\.*{_DOTTED})",
        hidden=r"^(?:function\s+|const\s+|struct\s+)?_",
    ),
    "lisp": _rules(
        _SEMICOLONS,
        _function(
            rf"\((?:cl-)?(?:defun|defmacro|defsubst|defgeneric|defmethod|define-syntax|define-macro|ert-deftest)\*?\s+\(?({_LISP})"
        ),
        _type(rf"\((?:cl-)?(?:defclass|defstruct|define-record-type|define-struct|struct|defgroup)\s+\(?({_LISP})"),
        _function(rf"\(define(?:/\w+)?\s+\(+({_LISP})"),
        _constant(rf"\((?:defvar|defparameter|defconstant|defcustom|defconst|defvar-local|define)\s+({_LISP})"),
        package=rf"\((?:defpackage|in-package)\s+#?:?({_LISP})",
        imports=rf"\(require\s+'?\"?({_LISP})",
    ),
    "nim": _rules(
        HASHES,
        _type(
            r"(?:type\s+)?([A-Z]\w*)\*?(?:\[[^\]]*\])?\s*(?:\{\.[^}]*\.\}\s*)?=\s*(?:ref\s+|ptr\s+)?(?:object|enum|tuple|distinct|concept)\b"
        ),
        _function(r"(?:proc|func|method|template|macro|iterator|converter)\s+(\w+|`[^`]+`)"),
        _constant(r"(?:const|let|var)\s+(\w+)\*?\s*[:=]"),
        imports=r"(?:import|from|include)\s+([\w./]+)",
        hidden=r"^(?:proc|func|method|template|macro|iterator|converter|const|let|var)\s+[\w`]+(?!\*)(?![\w`])",
    ),
    "objective-c": _rules(
        SLASHES,
        _type(r"@(?:interface|implementation|protocol)\s+(\w+)(?!.*;)", r"^\s*@end\b"),
        _type(r"typedef\s+(?:NS_(?:ENUM|OPTIONS)\(\s*\w+\s*,\s*(\w+)|(?:struct|enum)\s+(\w+))"),
        _type(r"(?:struct|enum)\s+(\w+)\s*\{"),
        _function(r"[-+]\s*\([^)]*(?:\([^)]*\)[^)]*)*\)\s*(\w+)"),
        _constant(r"@property\s*(?:\([^)]*\))?.*?(\w+)\s*;"),
        _constant(r"#\s*define\s+(\w+)"),
        _function(
            rf"(?:(?:static|inline|extern|const)\s+)*{_NOT_A_NAME}[\w]+(?:\s+\w+)?[\s*]+{_NOT_A_NAME}(\w+)\s*\([^;]*$"
        ),
        imports=r"(?:#\s*(?:import|include)\s+[\"<]([^\">]+)|@import\s+([\w.]+))",
    ),
    "ocaml": _rules(
        CommentStyle(line=(), block=("(*", "*)")),
        _module(
            r"module\s+(?:rec\s+)?(?:type\s+)?([A-Z]\w*)[^=]*=\s*(?:struct|sig|functor|begin|$)|module\s+([A-Z]\w*)\s*:\s*sig"
        ),
        _type(
            r"(?:type|and)\s+(?:nonrec\s+)?(?:(?:[+-]?'\w+|\([^)]*\)|_)\s+)?([a-z_]\w*)\s*(?:=(?!.*\bfun(?:ction)?\b)|$|:=)"
        ),
        _type(r"(?:class(?:\s+(?:virtual|type))*|exception)\s+(\w+)"),
        _function(
            r"(?:let|and)\s+(?:rec\s+)?(?!(?:open|module|exception|type)\b)([a-z_][\w']*|\([^)\w]+\))\s+(?!:|=)[\w(~?'_]"
        ),
        _function(r"(?:let|and)\s+(?:rec\s+)?([a-z_][\w']*)\s*(?::[^=]*)?=\s*fun(?:ction)?\b"),
        _function(r"(?:val|external|method(?:\s+(?:private|virtual))*)\s+(?:mutable\s+)?(\w[\w']*|\([^)\w]+\))"),
        _constant(r"let\s+([a-z_][\w']*)\s*(?::[^=]*)?="),
        imports=rf"(?:open!?|include)\s+({_DOTTED})",
    ),
    "odin": _rules(
        SLASHES,
        _type(r"(\w+)\s*::\s*(?:distinct\s+)?(?:struct|enum|union|bit_set)\b"),
        _function(r"(\w+)\s*::\s*(?:#\w+\s+)*proc\b"),
        _constant(r"(\w+)\s*::\s"),
        package=r"package\s+(\w+)",
        imports=r"import\s+(?:\w+\s+)?\"([^\"]+)",
    ),
    "pascal": _rules(
        CommentStyle(line=("//",), block=("{", "}")),
        _type(
            r"(?:type\s+)?(\w+)(?:<[^>]*>)?\s*=\s*(?i:packed\s+)?(?i:class|record|interface|object|set\s+of)\b(?!.*;\s*$)",
            r"(?i)^\s*end\s*;",
        ),
        _function(
            rf"(?i:class\s+)?(?i:procedure|function|constructor|destructor|operator)\s+({_DOTTED})",
            r"(?i)^\s*end\s*;|(?:forward|external|virtual|override|overload|abstract|stdcall|cdecl)\b[^;]*;\s*$|^\s*(?:private|public|protected|implementation)\b",
        ),
        package=rf"(?i:unit|program|library)\s+({_DOTTED})",
        imports=rf"(?i:uses)\s+({_DOTTED})",
    ),
    "perl": _rules(
        CommentStyle(line=("#",), block=("=", "=cut")),
        _type(rf"(?:package|class|role)\s+({_COLONS})(?:\s+v?[\d._]+)?\s*\{{"),
        _function(rf"(?:my\s+)?(?:async\s+)?(?:sub|method|fun)\s+({_COLONS})"),
        _constant(r"use\s+constant\s+(\w+)|(?:our|Readonly)\s+[$@%](\w+)"),
        package=rf"package\s+({_COLONS})",
        imports=rf"(?:use|require)\s+(?!(?:strict|warnings|constant|parent|base|utf8|feature|v?\d)\b)({_COLONS})|use\s+(?:parent|base)\s+(?:-norequire,\s*)?(?:qw[(/]\s*|['\"])({_COLONS})",
        hidden=r"sub\s+_",
    ),
    "powershell": _rules(
        CommentStyle(line=("#",), block=("<#", "#>")),
        _function(r"(?i:function|filter|workflow)\s+(?:\w+:)?([\w-]+)"),
        _type(r"(?i:class|enum)\s+(\w+)"),
        _function(
            r"(?:(?:hidden|static)\s+)*(?:\[[^\]]+(?:\[\])?\]\s*)?(?!(?i:if|elseif|for|foreach|while|switch|catch|param)\b)([A-Za-z]\w*)\s*\([^)]*\)\s*\{\s*$"
        ),
        imports=r"(?i:import-module|using\s+module)\s+(\S+)|\.\s+(\S+\.ps1)",
    ),
    "prisma": _rules(
        CommentStyle(line=("//",), block=None),
        _type(r"(?:model|enum|type|view|datasource|generator)\s+(\w+)\s*\{"),
    ),
    "protobuf": _rules(
        SLASHES,
        _type(r"(?:extend\s+)?(?:message|service|enum)\s+(\w+)|extend\s+([\w.]+)"),
        _function(r"rpc\s+(\w+)"),
        _type(r"oneof\s+(\w+)"),
        package=rf"package\s+({_DOTTED})",
        imports=r"import\s+(?:public\s+|weak\s+)?\"([^\"]+)",
    ),
    "purescript": _rules(
        CommentStyle(line=("--",), block=("{-", "-}")),
        _type(r"(?:data|newtype|type|class)\s+(?:.*<=\s*)?(\w+)"),
        _type(r"(?:derive\s+)?(?:newtype\s+)?instance\s+(?:(\w+)\s*::)?"),
        _function(
            r"(?!(?:module|import|where|foreign|infix[lr]?|if|then|else|case|of|let|in|do|type|data|class)\b)([a-z_][\w']*)(?=[^=|]*(?:::|=|\|))"
        ),
        package=rf"module\s+({_DOTTED})",
        imports=rf"import\s+({_DOTTED})",
        clauses=True,
    ),
    "r": _rules(
        CommentStyle(line=("#",), block=None),
        _function(r"[`\"']?([\w.]+|%[^%]+%|[\w.]+<-)[`\"']?\s*(?:<<?-|=)\s*(?:function\s*\(|\\\()"),
        _type(r"([\w.]+)\s*(?:<-|=)\s*(?:R6::)?(?:R6Class|setRefClass|setClass|new_class|ggproto)\s*\("),
        _type(r"set(?:Class|RefClass|Generic|Validity)\(\s*['\"]([\w.]+)"),
        _function(r"setMethod\(\s*(?:f\s*=\s*)?['\"]([^'\"]+)"),
        imports=r"(?:suppressPackageStartupMessages\()?(?:library|require|requireNamespace|source)\(\s*['\"]?([\w./-]+)",
        hidden=r"^\.",
    ),
    "sql": _rules(
        _DASHES,
        _type(
            rf"{_SQL_MAKES}(?:(?:materialized\s+)?view|table|type|domain|sequence|schema|extension){_SQL_UNLESS}{_SQL_NAME}",
            _SQL_ENDS,
        ),
        _function(
            rf"{_SQL_MAKES}(?:function|procedure|proc|trigger|macro|event|aggregate|rule){_SQL_UNLESS}{_SQL_NAME}",
            r";\s*(?:--.*)?$|^\s*(?:GO|go|/)\s*$",
        ),
        _constant(rf"{_SQL_MAKES}(?:index|policy){_SQL_UNLESS}{_SQL_NAME}", _SQL_ENDS),
        _constant(rf"(?i)alter\s+table\s+(?:(?:if\s+exists|only)\s+)*{_SQL_NAME}", _SQL_ENDS),
    ),
    "systemverilog": _rules(
        SLASHES,
        _type(
            r"(?:virtual\s+)?(?:module|macromodule|interface|program|primitive|class|package|checker)\s+(?:(?:automatic|static)\s+)?(\w+)",
            r"^\s*end(?:module|interface|program|primitive|class|package|checker)\b",
        ),
        _function(
            r"(?:(?:virtual|static|local|protected|extern|pure)\s+)*(?:function|task)\s+(?:(?:automatic|static)\s+)?(?:[\w\[\]:\s]+?\s+)?([\w:]+)\s*[(;]",
            r"^\s*end(?:function|task)\b",
        ),
        _constant(r"(?:`define|(?:local)?param(?:eter)?\s+(?:\w+\s+)?)\s*(\w+)"),
        imports=r"(?:`include\s+\"([^\"]+)|import\s+(\w+)::)",
    ),
    "tcl": _rules(
        HASHES,
        _function(r"(?:proc|method|typemethod)\s+([\w:]+)"),
        _type(r"(?:oo::class\s+create|snit::type|itcl::class)\s+([\w:]+)"),
        _module(r"namespace\s+eval\s+([\w:]+)"),
        imports=r"(?:package\s+require|source)\s+(\S+)",
    ),
    "thrift": _rules(
        CommentStyle(line=("//", "#"), block=("/*", "*/")),
        _type(r"(?:struct|union|exception|service|enum|senum)\s+(\w+)"),
        _type(r"typedef\s+.*?(\w+)\s*[,;]?\s*$"),
        _constant(r"const\s+\S+\s+(\w+)"),
        _function(rf"(?:oneway\s+)?{_NOT_A_NAME}[\w.<>,\s]+?\s+(\w+)\s*\("),
        package=rf"namespace\s+\S+\s+({_DOTTED})",
        imports=r"include\s+['\"]([^'\"]+)",
    ),
    "vbnet": _rules(
        CommentStyle(line=("'",), block=None),
        _type(
            r"(?i:(?:(?:public|private|friend|protected|partial|mustinherit|notinheritable|shadows)\s+)*(?:class|structure|interface|enum|module))\s+(\w+)"
        ),
        _module(rf"(?i:namespace)\s+({_DOTTED})"),
        _function(
            r"(?i:(?:(?:public|private|friend|protected|shared|static|overrides|overridable|overloads|mustoverride|async|iterator|shadows|readonly|default)\s+)*(?:sub|function|property))\s+(\w+)"
        ),
        imports=rf"(?i:imports)\s+({_DOTTED})",
        hidden=r"(?i)\bprivate\b",
    ),
    "vhdl": _rules(
        CommentStyle(line=("--",), block=None),
        _type(r"(?i:entity|architecture|package(?:\s+body)?|configuration|component)\s+(\w+)(?=.*\b(?i:is|of)\b)"),
        _function(r"(?i:(?:pure\s+|impure\s+)?(?:function|procedure))\s+(\w+)"),
        imports=r"(?i:use)\s+([\w.]+)",
    ),
    "vim": _rules(
        CommentStyle(line=('"',), block=None),
        _function(r"(?:export\s+)?(?:fu\w*!?|def)\s+((?:[gsbwtla]:|<SID>)?[\w#.:]+)\s*\("),
        _function(r"com\w*!?\s+(?:-\S+\s+)*([A-Z]\w*)"),
        imports=r"(?:import|source|runtime)!?\s+(?:autoload\s+)?['\"]?([^\s'\"]+)",
        hidden=r"\bs:",
    ),
}
"""By language."""

__all__ = ["LINE_RULES"]
