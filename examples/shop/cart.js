var money = require('./money');

// `discount` is in percent; null and undefined both mean that there is none.
function Cart(currency, discount) {
  this.currency = currency;
  this.discount = discount;
  this.lines = [];
}

Cart.prototype.add = function (name, cents, count) {
  if (count == 0) {
    return this;
  }
  this.lines.push({ name: name, cents: cents, count: count });
  return this;
};

Cart.prototype.total = function () {
  var sum = 0;
  this.lines.forEach(function (line) {
    sum = sum + line.cents * line.count;
  });
  if (this.discount != null) {
    sum = sum - money.percent(sum, this.discount);
  }
  return sum;
};

Cart.prototype.names = function () {
  var named = this.lines.map(function (line) { return line.name; });
  return named.sort();
};

module.exports = Cart;
