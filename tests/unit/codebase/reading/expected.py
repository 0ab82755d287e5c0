"""What each language's sample gives, line by line: definitions, imports, references and the types of names."""

from __future__ import annotations

SYMBOLS = {
    "sample.py": """
constant LIMIT 12-12
constant _secret 13-13 hidden
constant name 14-14
constant other 14-14
type Account 17-37
constant Account.KIND 24-24
constant Account.owner 25-25
method Account.balance 27-34
function Account.balance.inner 30-31
method Account._limit 36-37 hidden
function helper 40-43
""",
    "sample.go": """
constant Limit 14-15
constant first 18-18 hidden
constant Second 19-19
constant errGone 22-22 hidden
type Server 24-32
type Store 34-37
method Store.Get 36-36
type ID 40-40
type Pair 41-43
method Server.Serve 46-53
method Pair.Key 55-55
function NewServer 57-60
""",
    "sample.js": """
constant LIMIT 12-13
constant counter 14-14 hidden
function render 16-23
function add 25-26
type View 28-41
constant View.kind 29-29
constant View.#hidden 30-30 hidden
method View.draw 32-36
method View.size 38-38
method View.onClick 40-40
function close 43-43
function open 44-44
function shut 44-44
method View.hide 46-46
constant routes 48-52 hidden
function routes.index 49-49
function routes.show 50-50
function walk 54-54 hidden
""",
    "sample.ts": """
type Kind 5-6
type Store 8-13
method Store.get 9-10
type Color 15-15
type Repository 17-32
constant Repository.LIMIT 18-18 hidden
constant Repository.name 19-19
method Repository.constructor 21-21
method Repository.find 23-23
method Repository.get 25-25
method Repository.get 26-26
method Repository.get 27-29
method Repository.hidden 31-31 hidden
function parse 34-34
function parse 35-38
function build 40-40
module other 42-44 hidden
function other.outside 43-43
module Inner.Deep 46-49
constant Inner.Deep.VALUE 47-47
type Inner.Deep.Nested 48-48
constant VERSION 51-51
""",
    "sample.tsx": """
type Props 4-4 hidden
function Panel 6-10
function App 12-14
""",
    "sample.rs": """
constant LIMIT 11-12
constant COUNT 13-13 hidden
type Parser 15-20
type Token 22-22
type Show 24-29
constant Show.NAME 26-26 hidden
method Show.show 27-27 hidden
method Show.twice 28-28 hidden
method Parser.new 32-37
method Parser.step 39-42 hidden
constant Parser.NAME 46-46 hidden
method Parser.show 47-47 hidden
type Result 50-50
function twice 52-52 hidden
function parse 54-57
module tests 59-63 hidden
function tests.parses 61-62 hidden
""",
    "Sample.java": """
type Order 10-43
constant Order.LIMIT 17-17 hidden
constant Order.name 18-18
constant Order.other 18-18
method Order.Order 20-23
method Order.compareTo 25-31
method Order.total 33-34 hidden
type Order.State 36-36
method Order.State.next 36-36
type Order.Visitor 38-38
method Order.Visitor.visit 38-38
type Order.Point 40-40
type Order.Marker 42-42
method Order.Marker.value 42-42
""",
    "Sample.kt": """
constant LIMIT 7-8
constant secret 9-9 hidden
type Order 11-29
constant Order.name 15-15
constant Order.KIND 18-18
method Order.create 19-19
method Order.total 22-26
method Order.hidden 28-28 hidden
type Visitor 31-33
method Visitor.visit 32-32
type Color 35-35
type Registry 37-39
method Registry.find 38-38
type Names 41-41
function String.shout 43-44
type Shape 46-46
""",
    "Sample.scala": """
type Order 6-18
constant Order.name 8-8
constant Order.secret 9-9 hidden
method Order.total 11-15
method Order.hidden 17-17 hidden
type Order 20-23
constant Order.Limit 21-21
method Order.apply 22-22
type Shape 25-25
method Shape.area 25-25
type Names 26-26
type Color 27-27
function top 28-28
""",
    "sample.c": """
constant LIMIT 5-5
function MAX 6-6
constant count 8-8 hidden
constant version 9-9
type node 11-15
type list_t 17-19
type callback 21-21
type color 23-23
function list_add 25-25
function list_push 27-34 hidden
function list_head 36-36
function dump 39-39
""",
    "sample.cpp": """
module shapes 8-46
constant shapes.kLimit 10-11
type shapes.Shape 13-25
method shapes.Shape.Shape 16-16
method shapes.Shape.~Shape 17-17
method shapes.Shape.area 18-19
method shapes.Shape.operator== 20-20
constant shapes.Shape.sides 21-21 hidden
type shapes.Box 27-28
method shapes.Box.get 28-28
type shapes.Color 30-30
type shapes.Names 32-32
method shapes.Shape.scale 34-38
function shapes.twice 40-40
function shapes.hidden 43-43
function main 48-48
""",
    "Sample.cs": """
type Order 7-28
constant Order.Limit 11-11 hidden
constant Order.Name 12-12
constant Order.Changed 13-13
method Order.Order 15-18
method Order.TotalAsync 20-24
method Order.Total 26-26
type Order.State 27-27 hidden
type IStore 30-30
method IStore.Load 30-30
type Point 31-31
type Pair 32-32
constant Pair.A 32-32
type Handler 33-33
""",
    "sample.rb": """
module Shop 6-43
constant Shop.LIMIT 8-8
type Shop.Order 10-42
constant Shop.Order.STATES 17-17
method Shop.Order.initialize 19-21
method Shop.Order.find 23-26
method Shop.Order.total 28-31
method Shop.Order.build 34-34
method Shop.Order.hidden 39-41 hidden
type Shop.Line 45-45
function top 47-47
""",
    "sample.php": """
constant LIMIT 14-14
constant OTHER 15-15
type Order 17-34
constant Order.KIND 21-21 hidden
constant Order.name 22-22
method Order.__construct 24-24
method Order.total 26-31
method Order.hidden 33-33
type Visitor 36-36
method Visitor.visit 36-36
type Loggable 37-37
method Loggable.log 37-37 hidden
type Color 38-38
function top 40-40
""",
    "sample.swift": """
constant limit 4-5
constant counter 6-6 hidden
type Order 8-22
constant Order.kind 10-10
constant Order.name 11-11
method Order.init 13-13
method Order.total 15-19
method Order.hidden 21-21 hidden
type Point 24-24
constant Point.x 24-24
type Color 25-25
type Visitor 26-26
method Visitor.visit 26-26
method Order.same 27-27
type Names 28-28
function top 29-29
""",
    "sample.lua": """
constant LIMIT 5-5 hidden
constant M 6-6 hidden
function M.total 8-13
method M.method 15-17
function hidden 19-19 hidden
function M.closed 21-21
function top 23-23
""",
    "sample.sh": """
constant LIMIT 7-7
constant NAME 8-8
constant PATH 9-9
function build 11-15
function clean 17-20
""",
    "sample.ex": """
type Shop.Order 1-28
constant Shop.Order.limit 11-11
method Shop.Order.total 14-21
method Shop.Order.total 23-23
method Shop.Order.hidden 25-25 hidden
method Shop.Order.twice 27-27
type Shop.Show 30-32
method Shop.Show.show 31-31
method Shop.Order.show 35-35
""",
    "sample.dart": """
constant limit 9-9
constant _secret 10-10 hidden
type Order 12-41
constant Order.kind 14-14
constant Order._store 15-15 hidden
constant Order.count 16-16
method Order.Order 18-19
method Order.empty 21-21
method Order.of 23-23
method Order.total 25-30
method Order.size 32-32
method Order.size 34-36
method Order.+ 38-38
method Order.save 40-40
type Logging 43-45
method Logging.log 44-44
type Shouting 47-49
method Shouting.shout 48-48
type Color 51-51
type Handler 53-53
function sum 55-59
function sum.inner 57-57
function main 61-64
""",
    "Sample.hs": """
type Order 13-19
type Tax 21-21 hidden
type Line 23-23 hidden
type Shape 25-30
method Shape.area 27-28
method Shape.name 29-30
method Order.area 33-33
function total 35-40
function total.go 39-40 hidden
function lookup 42-45 hidden
constant limit 47-48 hidden
function <+> 50-51 hidden
""",
    "sample.tf": """
type terraform 3-5
constant var.region 7-10
constant local.name 13-13
constant local.tags 14-16
type aws_s3_bucket.orders 19-26
type data.aws_ami.linux 28-30
type module.network 32-35
constant output.bucket 37-39
""",
    "sample.nix": """
constant version 5-5
function build 7-11
function double 13-13
constant imports 16-16
constant packages.shop 18-21
constant packages.shop.name 19-19
constant packages.shop.src 20-20
constant services.shop 23-26
constant services.shop.enable 24-24
constant services.shop.port 25-25
""",
    "Sample.sol": """
type Payable 8-11
method Payable.pay 10-10
type Sums 13-17
method Sums.add 14-16 hidden
type Shop 19-60
constant Shop.LIMIT 24-24
constant Shop.balances 25-25 hidden
type Shop.Order 27-29
type Shop.Color 31-34
type Shop.Sold 36-36
type Shop.Missing 38-38
method Shop.onlyOwner 40-43
method Shop.constructor 45-47
method Shop.total 49-52
method Shop.pay 54-57
method Shop._take 59-59 hidden
function free 62-64
""",
    "sample.zig": """
constant LIMIT 6-7
constant counter 8-8 hidden
type List 10-24
method List.init 15-18
method List.grow 20-23 hidden
type Color 26-26
type Shape 28-30 hidden
type Failure 32-32
function total 34-38
function count 40-42
function total of none 44-46 hidden
""",
}
"""Kind, qualified name and lines of each definition, in order."""

IMPORTS = {
    "sample.py": r"""
4 __future__: annotations
6 os.path
7 numpy as np
7 sys
8 .: storage
9 ..core.errors: NotFound as Missing, Refused
10 typing: *
""",
    "sample.go": r"""
7 fmt
8 github.com/acme/logging as log
9 math: *
11 embed as _
""",
    "sample.js": r"""
4 react: default as React, useState as state, useEffect
5 ./tools.js as tools
6 ./style.css
7 fs as fs
8 path: join, sep as separator
9 ./parse: parse
10 ./all: *
""",
    "sample.ts": r"""
1 ./options: Options
2 fs as fs
3 express: default as express
""",
    "sample.tsx": r"""
1 react: default as React
2 ./button: Button
""",
    "sample.rs": r"""
5 std::collections: HashMap
5 std::collections::hash_map: Entry as E
6 crate::lexer: Lexer
7 super: *
8 self::inner: Deep
9 self::inner
60 super: *
""",
    "Sample.java": r"""
6 java.util: List
7 java.util: *
8 com.acme.Tools: helper
""",
    "Sample.kt": r"""
3 com.acme.tools: *
4 com.acme.core: Store as Shop
5 java.util: UUID
""",
    "Sample.scala": r"""
3 com.acme.core: Store, Parser as P
4 scala.collection.mutable: *
""",
    "sample.c": r"""
2 stdio.h
3 list.h
""",
    "sample.cpp": r"""
2 vector
3 shape.hpp
5 std: *
6 geometry: Point
""",
    "Sample.cs": r"""
1 System: *
2 System.Text as Text
3 System.Math: *
""",
    "sample.rb": r"""
3 json
4 tools/parse
""",
    "sample.php": r"""
7 Acme\Core: Store
8 Acme\Tools: Parser
8 Acme\Tools: Printer as P
9 Acme: helper
11 boot.php
12 other.php
""",
    "sample.swift": r"""
1 Foundation
2 Shop
""",
    "sample.lua": r"""
2 json as json
3 tools.parse as parse
""",
    "sample.sh": r"""
4 ./lib.sh: *
5 ./other.sh: *
""",
    "sample.ex": r"""
5 GenServer: *
6 Shop.Store as Store
6 Shop.Line as Line
7 Shop.Parser as P
8 Enum: *
9 Logger
""",
    "sample.dart": """
4 dart:async: *
5 package:http/http.dart as http
6 store.dart: Store, open
7 line.dart: *
""",
    "Sample.hs": """
9 Data.List: sortBy, foldl'
10 Data.Map.Strict as Map
11 Prelude: *
""",
    "sample.tf": """
32 ./modules/network as network
""",
    "sample.nix": """
16 ./hardware.nix
""",
    "Sample.sol": """
4 ./Base.sol: *
5 ../Token.sol: Token, Coin as Money
6 ./Math.sol as Math
""",
    "sample.zig": """
3 std as std
4 other.zig as other
""",
}
"""Line, module, what it is called here, and the names of it."""

REFERENCES = {
    "sample.py": r"""
17 call decorate in -
18 inherit Base in Account
31 call helper in Account.balance.inner
33 call storage > sum_of in Account.balance
34 call self > _limit in Account.balance
34 call inner in Account.balance
37 call min in Account._limit
37 call os.path > getsize in Account._limit
42 call Account in helper
47 call helper in -
48 call range in -
49 call print in -
50 call print in -
51 call sys > exit in -
""",
    "sample.go": r"""
22 call fmt > Errorf in -
27 inherit Base in Server
27 inherit log > Logger in Server
34 inherit io > Reader in Store
48 call NewServer in Server.Serve
50 call s > handle in Server.Serve
52 call local.store > Get in Server.Serve
52 call fmt > Sprint in Server.Serve
""",
    "sample.js": r"""
22 call tools > draw in render
22 call join in render
26 call sum in add
28 inherit React > Component in View
34 call this > update in View.draw
35 call Panel in View.draw
35 call render in View.draw
43 call fs > closeSync in close
46 call helper in View.hide
49 call render in routes.index
50 call render in routes.show
54 call walk in walk
56 call describe in -
57 call View in -
58 call it in -
58 call local > draw in -
""",
    "sample.ts": r"""
8 inherit Base in Store
8 inherit Other in Store
17 inherit Base in Repository
17 inherit Store in Repository
17 inherit Closable in Repository
28 call this.db > query in Repository.get
31 call this > find in Repository.hidden
36 call build in parse
37 call made > get in parse
40 call Impl in build
""",
    "sample.tsx": r"""
8 call React > useState in Panel
9 call Button in Panel
9 call setOpen in Panel
13 call Panel in App
""",
    "sample.rs": r"""
25 inherit Display in Show
25 inherit Clone in Show
28 call self > show in Show.twice
28 call self > show in Show.twice
35 call Lexer > new in Parser.new
36 call Parser in Parser.new
40 call helper in Parser.step
41 call self.lexer.next() > map in Parser.step
41 call self.lexer > next in Parser.step
41 call inner > convert in Parser.step
45 inherit Show in Parser
47 call format in Parser.show
55 call Parser > new in parse
56 call p.step() > ok_or in parse
56 call p > step in parse
62 call parse() > unwrap in tests.parses
62 call parse in tests.parses
""",
    "Sample.java": r"""
15 inherit Base in Order
15 inherit Closable in Order
15 inherit Comparable in Order
27 call helper in Order.compareTo
28 call ArrayList in Order.compareTo
29 call store > save in Order.compareTo
30 call Integer > compare in Order.compareTo
30 call this > total in Order.compareTo
30 call other > total in Order.compareTo
38 inherit Base in Order.Visitor
""",
    "Sample.kt": r"""
14 inherit Base in Order
14 inherit Closable in Order
19 call Order in Order.create
19 call UUID > randomUUID in Order.create
19 call Shop in Order.create
24 call store > load in Order.total
25 call helper() > also in Order.total
25 call helper in Order.total
25 call local > sum in Order.total
25 call print in Order.total
28 call total in Order.hidden
44 call this > uppercase in String.shout
""",
    "Sample.scala": r"""
7 inherit Base in Order
7 inherit Closable in Order
13 call helper in Order.total
14 call store > load in Order.total
14 call this > sum in Order.total
22 call Order in Order.apply
22 call Store > make in Order.apply
28 call order > total in top
""",
    "sample.c": r"""
32 call MAX in list_push
33 call list_add in list_push
33 call list > cb in list_push
39 call printf in dump
""",
    "sample.cpp": r"""
14 inherit Base in shapes.Shape
14 inherit geometry > Mixin in shapes.Shape
35 call helper in shapes.Shape.scale
37 call other_ > area in shapes.Shape.scale
37 call std > abs in shapes.Shape.scale
37 call Box > make in shapes.Shape.scale
40 call add in shapes.twice
48 call Shape in main
48 call p > scale in main
""",
    "Sample.cs": r"""
8 inherit Base in Order
8 inherit IClosable in Order
22 call Order in Order.TotalAsync
23 call store > Load in Order.TotalAsync
23 call Helper in Order.TotalAsync
23 call other > Total in Order.TotalAsync
""",
    "sample.rb": r"""
13 inherit Base in Shop.Order
14 inherit Comparable in Shop.Order
17 call () > freeze in Shop.Order
25 call store > load in Shop.Order.find
29 call helper in Shop.Order.total
30 call @store > sum in Shop.Order.total
30 call x > value in Shop.Order.total
34 call new in Shop.Order.build
40 call puts in Shop.Order.hidden
47 call Shop::Order > find in top
""",
    "sample.php": r"""
15 call define in -
18 inherit Base in Order
18 inherit Closable in Order
18 inherit Countable in Order
20 inherit Loggable in Order
29 call helper in Order.total
30 call this.store > load in Order.total
30 call self > sum in Order.total
30 call Parser > parse in Order.total
30 call Line in Order.total
37 call print_r in Loggable.log
40 call order > total in top
""",
    "sample.swift": r"""
9 inherit Base in Order
9 inherit Closable in Order
17 call helper in Order.total
18 call other > sum in Order.total
18 call self.store > load in Order.total
26 inherit AnyObject in Visitor
27 inherit Equatable in Order
29 call Order() > total in top
29 call Order in top
29 call Store in top
""",
    "sample.lua": r"""
11 call helper in M.total
12 call json > decode in M.total
12 call M > sum in M.total
16 call self > total in M.method
21 call parse in M.closed
""",
    "sample.sh": r"""
14 call helper in build
19 call build in clean
22 call build in -
""",
    "sample.ex": r"""
19 call helper in Shop.Order.total
20 call Store > load in Shop.Order.total
20 call P > sum in Shop.Order.total
23 call total in Shop.Order.total
34 inherit Shop > Show in Shop.Order
35 call x > id in Shop.Order.show
""",
    "sample.dart": """
13 inherit Base in Order
13 inherit Logging in Order
13 inherit Payable in Order
13 inherit Comparable in Order
21 call Store in Order
23 call Order > empty in Order.of
28 call _store > lines in Order.total
29 call sum in Order.total
43 inherit Base in Logging
44 call print in Logging.log
47 inherit String in Shouting
48 call toUpperCase in Shouting.shout
58 call lines > fold in sum
58 call () > inner in sum
62 call http > Client in main
63 call client > get in main
""",
    "Sample.hs": """
32 inherit Shape in Order
33 call total in Order.area
37 call go in total
37 call orderLines in total
40 call go in total.go
44 call null in lookup
44 call const in lookup
45 call Map > lookup in lookup
51 call Order in <+>
51 call orderLines in <+>
51 call orderLines in <+>
51 call customer in <+>
""",
    "sample.nix": """
8 call pkgs.stdenv > mkDerivation in build
18 call build in packages.shop
25 call double in services.shop.port
""",
    "Sample.sol": """
21 inherit Base in Shop
21 inherit Payable in Shop
41 call require in Shop.onlyOwner
51 call Sums > add in Shop.total
55 call Sold in Shop.pay
56 call _take in Shop.pay
""",
    "sample.zig": """
17 call allocator > alloc in List.init
21 call other > resize in List.grow
36 call count in total
45 call std.testing > expect in total of none
45 call total in total of none
45 call List > init in total of none
""",
}
"""Line, kind, receiver and name of each call and base type, and the definition that it stands in."""

BINDINGS = {
    "sample.py": """
Account._limit most: Limits
helper account: Account
helper found: Account
""",
    "sample.go": """
Server store: Store
Server port: int
Pair key: K
Server.Serve s: Server
Server.Serve ctx: context.Context
Server.Serve other: Store
Server.Serve local: Server
Pair.Key p: Pair
""",
    "sample.js": """
- local: View
""",
    "sample.ts": """
Store this.value: T
Repository.constructor db: Database
Repository.constructor options: Options
parse options: Options
build x: T
Repository this.db: Database
""",
    "sample.tsx": """

""",
    "sample.rs": """
Parser self.lexer: Lexer
Parser.new lexer: Lexer
Parser.step lexer: Lexer
parse p: Parser
""",
    "Sample.java": """
Order name: String
Order other: String
Order.Order store: Store
Order.compareTo other: Order
Order.compareTo names: List
Order.compareTo r: Runnable
Order.Visitor.visit order: Order
""",
    "Sample.kt": """
- secret: String
Order id: UUID
Order store: Shop
Order.create Order: Order
Order.total tax: Int
Visitor.visit order: Order
Registry.find id: String
""",
    "Sample.scala": """
Order id: Int
Order store: Store
Order secret: Int
Order.total tax: Int
Order.hidden hidden: Int
Order.apply x: Int
Order.apply Order: Order
Shape.area area: Double
top order: Order
""",
    "sample.c": """

""",
    "sample.cpp": """
shapes.Shape.operator== other: Shape
shapes.Box value: T
shapes.Shape.scale p: Point
shapes.twice x: T
main s: shapes::Shape
main p: Shape
""",
    "Sample.cs": """
Order Changed: EventHandler
Order.Order store: IStore
Order.TotalAsync other: Order
Order.TotalAsync local: Order
""",
    "sample.rb": """

""",
    "sample.php": """
Order this.store: Store
Order this.name: string
Order.__construct store: Store
Visitor.visit order: Order
top order: Order
""",
    "sample.swift": """
Order name: String
Order.init store: Store
Order.total tax: Int
Order.total other: Order
Point x: Int
Visitor.visit order: Order
""",
    "sample.lua": """

""",
    "sample.sh": """

""",
    "sample.ex": """

""",
}
"""Where a name is known, and its type."""
