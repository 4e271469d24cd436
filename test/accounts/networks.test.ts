import { expect, test } from 'vitest';
import { neighbourhoodOf, networkOf } from '../../src/accounts/networks.ts';

test.each([
  ['192.0.2.1', '192.0.2.1', '192.0.2'],
  ['::ffff:192.0.2.1', '192.0.2.1', '192.0.2'],
  ['::ffff:c000:201', '192.0.2.1', '192.0.2'],
  ['2001:0DB8:1:2:3:4:5:6', '2001:db8:1:2', '2001:db8:1:2'],
  ['2001:db8:1:2::1', '2001:db8:1:2', '2001:db8:1:2'],
  ['::1', '0:0:0:0', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0', 'fe80:0:0:0'],
  ['unknown', 'unknown', 'unknown'],
  ['', '', ''],
])('%s: is in the network %s and the neighbourhood %s', (address, network, neighbourhood) => {
  expect([networkOf(address), neighbourhoodOf(address)]).toEqual([network, neighbourhood]);
});
