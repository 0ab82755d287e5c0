// Amounts are in cents.
var SYMBOLS = { EUR: '€', USD: '$', GBP: '£' };

function format(cents, currency) {
  var symbol = SYMBOLS[currency];
  if (symbol == undefined) {
    throw new Error('unknown currency ' + currency);
  }
  return symbol + (cents / 100).toFixed(2);
}

function percent(cents, rate) {
  var exact = cents * rate / 100;
  return Math.round(exact);
}

module.exports = { format: format, percent: percent };
