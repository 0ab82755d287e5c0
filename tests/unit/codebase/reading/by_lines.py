"""A sample of each language without a grammar, and the definitions in it."""

from __future__ import annotations

SAMPLES: dict[str, tuple[str, list[str]]] = {
    "a.pl": (
        """
package Shop::Order;
use strict;
use List::Util qw(sum);

# Adds up.
sub total {
    my ($self) = @_;
    my $f = sub { 1 };
    return sum(@{$self->{lines}});
}

sub _hidden { 1 }

=head1 NAME

sub no

=cut

sub last {
}
1;
""".lstrip(),
        ["function total 5-10", "function _hidden 12-12 hidden", "function last 20-21"],
    ),
    "a.R": (
        """
library(stats)

# Adds up.
total <- function(x,
                  tax = 0) {
  inner <- function(y) y
  sum(x) + tax
}
Order <- R6Class("Order",
  public = list(
    total = function() {
      1
    }
  )
)
""".lstrip(),
        ["function total 3-8", "type Order 9-15", "method Order.total 11-13"],
    ),
    "a.jl": (
        """
module Shop

using Base.Threads

struct Order{T} <: Any
    lines::Vector{T}
end

function total(o::Order)
    f(x) = x
    sum(o.lines)
end

half(x) = x / 2

const LIMIT = 10

end
""".lstrip(),
        ["type Order 5-7", "function total 9-12", "function half 14-14", "constant LIMIT 16-16"],
    ),
    "a.ml": (
        """
open Base

(** An order. *)
type order = {
  lines : float list;
}

module Store = struct
  let find key =
    key
end

let rec total order tax =
  let inner x = x in
  inner tax

let limit = 10
""".lstrip(),
        [
            "type order 3-6",
            "module Store 8-11",
            "function Store.find 9-10",
            "function total 13-15",
            "constant limit 17-17",
        ],
    ),
    "a.erl": (
        """
-module(shop).
-export([total/2]).
-record(order, {lines = []}).

%% Adds up.
-spec total(list(), float()) -> float().
total([], Tax) ->
    Tax;
total([H | T], Tax) ->
    H + total(T, Tax).

limit() -> 10.
""".lstrip(),
        ["type order 3-3", "function total 5-10", "function limit 12-12"],
    ),
    "a.clj": (
        """
(ns shop.order
  (:require [clojure.string :as str]))

(defrecord Order [lines])

(defn total
  "Adds up."
  [order tax]
  (let [x 1]
    (+ x tax)))

(defn- hidden? [x] x)
(def limit 10)
""".lstrip(),
        ["type Order 4-4", "function total 6-10", "function hidden? 12-12 hidden", "constant limit 13-13"],
    ),
    "a.m": (
        """
#import <Foundation/Foundation.h>
#import "Store.h"

@implementation Order

// Adds up.
- (double)totalWithTax:(double)tax {
    return tax;
}

+ (instancetype)make
{
    return nil;
}
@end

static int count(int a) {
    return a;
}
""".lstrip(),
        ["type Order 4-15", "method Order.totalWithTax 6-9", "method Order.make 11-14", "function count 17-19"],
    ),
    "a.sql": (
        """
-- Orders.
CREATE TABLE IF NOT EXISTS shop.orders (
  id int,
  total numeric
);

create or replace function shop.total(id int) returns numeric as $$
begin
  select 1;
  return 2;
end;
$$ language plpgsql;

CREATE UNIQUE INDEX orders_by_id ON shop.orders (id);
CREATE VIEW "big orders" AS SELECT 1;
""".lstrip(),
        ["type shop.orders 1-5", "function shop.total 7-12", "constant orders_by_id 14-14", "type big orders 15-15"],
    ),
    "a.proto": (
        """
syntax = "proto3";
package shop.v1;
import "line.proto";

// An order.
message Order {
  enum Kind {
    SMALL = 0;
  }
  string id = 1;
}

service Shop {
  // Adds up.
  rpc Total(Order) returns (Sum) {}
}
""".lstrip(),
        ["type Order 5-11", "type Order.Kind 7-9", "type Shop 13-16", "method Shop.Total 14-15"],
    ),
    "a.graphql": (
        """
# An order.
type Order implements Node {
  id: ID!
}

input NewOrder { id: ID }
query GetOrder($id: ID!) {
  order(id: $id) { id }
}
""".lstrip(),
        ["type Order 1-4", "type NewOrder 6-6", "function GetOrder 7-9"],
    ),
    "a.vim": (
        """
" Adds up.
function! shop#total(a) abort
  if a:a
    return 1
  endif
endfunction

function! s:hidden()
endfunction
command! -nargs=1 Total call shop#total(<args>)
""".lstrip(),
        ["function shop.total 1-6", "function s.hidden 8-9 hidden", "function Total 10-10"],
    ),
    "a.ps1": (
        """
Import-Module Shop

<#
Adds up.
#>
function Get-Total {
    param([int]$Tax)
    $Tax
}

class Order {
    [int] Total([int]$t) {
        return $t
    }
}
""".lstrip(),
        ["function Get-Total 3-9", "type Order 11-15", "method Order.Total 12-14"],
    ),
    "a.fish": (
        """
# Adds up.
function total --argument tax
    echo $tax
end
""".lstrip(),
        ["function total 1-4"],
    ),
    "a.cr": (
        """
require "json"

# An order.
class Shop::Order < Base
  LIMIT = 10

  # Adds up.
  def total(tax) : Int32
    if tax
      1
    end
  end

  private def hidden?
  end
end
""".lstrip(),
        [
            "type Shop.Order 3-16",
            "constant Shop.Order.LIMIT 5-5",
            "method Shop.Order.total 7-12",
            "method Shop.Order.hidden? 14-15 hidden",
        ],
    ),
    "a.nim": (
        """
import strutils

type
  Order* = object
    id: int

proc total*(o: Order, tax: int): int =
  ## Adds up.
  proc inner(): int = 1
  result = tax

proc hidden() = discard
""".lstrip(),
        ["type Order 4-5", "function total 7-10", "function hidden 12-12 hidden"],
    ),
    "a.d": (
        """
module shop.order;
import std.stdio;

/// An order.
class Order : Base
{
    private int id;

    this(int id)
    {
        this.id = id;
    }

    double total(double tax) const
    {
        return tax;
    }
}

void main()
{
    writeln(1);
}
""".lstrip(),
        ["type Order 4-18", "method Order.this 9-12", "method Order.total 14-17", "function main 20-23"],
    ),
    "a.fs": (
        """
module Shop.Order
open System

/// An order.
type Order =
    { Id: int }
    member this.Total(tax) =
        tax

/// Adds up.
let total (order: Order) tax =
    let inner x = x
    inner tax

let private limit = 10
""".lstrip(),
        ["type Order 4-8", "method Order.Total 7-8", "function total 10-13", "constant limit 15-15 hidden"],
    ),
    "build.gradle": (
        """
import org.shop.Order

class Greeting extends DefaultTask {
    @TaskAction
    def greet(String who) {
        println who
    }
}

task hello(type: Greeting) {
    who = 'x'
}
""".lstrip(),
        ["type Greeting 3-8", "method Greeting.greet 5-7", "function hello 10-12"],
    ),
    "a.thrift": (
        """
include "shared.thrift"
namespace py shop

struct Order {
  1: i32 id
}

service Shop extends shared.Base {
  double total(1: Order o),
}
""".lstrip(),
        ["type Order 4-6", "type Shop 8-10", "method Shop.total 9-9"],
    ),
    "a.el": (
        """
;;; Orders.

(defcustom shop-limit 10
  "Most.")

(defun shop-total (order)
  "Adds up."
  (let ((x 1))
    x))

(require 'cl-lib)
""".lstrip(),
        ["constant shop-limit 3-4", "function shop-total 6-9"],
    ),
    "a.scm": (
        """
(define limit 10)

; Adds up.
(define (total order tax)
  (define (inner x) x)
  (inner tax))
""".lstrip(),
        ["constant limit 1-1", "function total 3-6"],
    ),
    "a.f90": (
        """
module shop
  use other
contains
  ! Adds up.
  function total(tax) result(r)
    real :: tax, r
    r = tax
  end function total
end module shop
""".lstrip(),
        ["module shop 1-9", "function shop.total 4-8"],
    ),
    "a.elm": (
        """
module Shop exposing (..)

import Html


type alias Order =
    { id : Int }


{-| Adds up. -}
total : Order -> Int
total order =
    let
        x = 1
    in
    x
""".lstrip(),
        ["type Order 6-7", "function total 10-16"],
    ),
    "a.gd": (
        """
class_name Shop
extends Node

const LIMIT = 10

func total(tax):
	var x = 1
	return x

class Order:
	func sum():
		pass
""".lstrip(),
        ["constant LIMIT 4-4", "function total 6-8", "type Order 10-12", "method Order.sum 11-12"],
    ),
    "a.sv": (
        """
// Counts.
module counter #(parameter W = 8) (
  input clk
);
  function automatic int next(int a);
    return a + 1;
  endfunction

  always @(posedge clk) begin
  end
endmodule
""".lstrip(),
        ["type counter 1-11", "method counter.next 5-7"],
    ),
    "a.tcl": (
        """
package require Tk

# Adds up.
proc shop::total {tax} {
    return $tax
}
""".lstrip(),
        ["function shop.total 3-6"],
    ),
    "a.pas": (
        """
unit Shop;

type
  TOrder = class(TObject)
    function Total: Integer;
  end;

implementation

function TOrder.Total: Integer;
begin
  Result := 1;
end;
""".lstrip(),
        ["type TOrder 4-6", "method TOrder.Total 5-6", "function TOrder.Total 10-13"],
    ),
    "a.vb": (
        """
Imports System

Public Class Order
    ' Adds up.
    Public Function Total(tax As Double) As Double
        Return tax
    End Function

    Private Sub Hidden()
    End Sub
End Class
""".lstrip(),
        ["type Order 3-11", "method Order.Total 4-7", "method Order.Hidden 9-10 hidden"],
    ),
    "a.coffee": (
        """
fs = require 'fs'

class Order extends Base
  # Adds up.
  total: (tax) ->
    inner = -> 1
    tax

helper = (a) -> a
""".lstrip(),
        ["type Order 3-7", "method Order.total 4-7", "function helper 9-9"],
    ),
    "a.odin": (
        """
package shop
import "core:fmt"

Order :: struct {
    id: int,
}

total :: proc(o: Order) -> int {
    x :: 1
    return x
}
""".lstrip(),
        ["type Order 4-6", "function total 8-11"],
    ),
    "a.gleam": (
        """
import gleam/io

/// An order.
pub type Order {
  Order(id: Int)
}

pub fn total(o: Order) -> Int {
  1
}

fn hidden() {
  1
}
""".lstrip(),
        ["type Order 3-6", "function total 8-10", "function hidden 12-14 hidden"],
    ),
    "a.hx": (
        """
package shop;
import haxe.Json;

class Order {
    public function total(tax:Float):Float {
        return tax;
    }
}
""".lstrip(),
        ["type Order 4-8", "method Order.total 5-7"],
    ),
    "a.purs": (
        """
module Shop where

import Prelude

data Order = Order Int

-- | Adds up.
total :: Order -> Int
total (Order a) = a
""".lstrip(),
        ["type Order 5-5", "function total 7-9"],
    ),
    "a.wgsl": (
        """
struct Light {
  color: vec3<f32>,
}

@vertex
fn main(@location(0) a: vec3<f32>) -> vec4<f32> {
  return a;
}
""".lstrip(),
        ["type Light 1-3", "function main 6-8"],
    ),
    "a.prisma": (
        """
model Order {
  id Int @id
}
""".lstrip(),
        ["type Order 1-3"],
    ),
    "a.adb": (
        """
with Ada.Text_IO;
package body Shop is
   -- Adds up.
   function Total (Tax : Float) return Float is
   begin
      return Tax;
   end Total;
end Shop;
""".lstrip(),
        ["module Shop 2-8", "function Shop.Total 3-7"],
    ),
    "a.vhd": (
        """
entity counter is
  port (clk : in std_logic);
end counter;

architecture rtl of counter is
begin
end rtl;
""".lstrip(),
        ["type counter 1-3", "type rtl 5-7"],
    ),
}
