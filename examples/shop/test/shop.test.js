const test = require('node:test');
const assert = require('node:assert');
const Cart = require('../cart');
const money = require('../money');
const receipt = require('../receipt');

test('amounts have two decimals', () => {
  assert.strictEqual(money.format(1250, 'EUR'), '€12.50');
  assert.throws(() => money.format(1, 'XXX'), /unknown currency XXX/);
});

test('a cart adds up', () => {
  const cart = new Cart('EUR', 10).add('tea', 300, 2).add('cup', 900, 1).add('spoon', 100, 0);
  assert.strictEqual(cart.total(), 1350);
  assert.deepStrictEqual(cart.names(), ['cup', 'tea']);
});

test('a cart without a discount costs the full price', () => {
  assert.strictEqual(new Cart('EUR').add('tea', 300, 1).total(), 300);
  assert.strictEqual(new Cart('EUR', null).add('tea', 300, 1).total(), 300);
});

test('a receipt has a line an article', () => {
  assert.strictEqual(receipt(new Cart('USD').add('tea', 300, 2)), '2 x tea: $6.00\ntotal: $6.00');
  assert.strictEqual(receipt(new Cart('USD')), 'total: $0.00');
});
