var money = require('./money');

function receipt(cart) {
  var lines = cart.lines.map(function (line) {
    var amount = money.format(line.cents * line.count, cart.currency);
    return line.count + ' x ' + line.name + ': ' + amount;
  });
  var total = 'total: ' + money.format(cart.total(), cart.currency);

  if (lines.length == 0) {
    return total;
  }
  return lines.join('\n') + '\n' + total;
}

module.exports = receipt;
