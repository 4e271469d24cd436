import { expect, test } from 'vitest';
import { isOwnResource } from '../../../src/api/connect/resources.ts';

const PUBLIC = 'https://souk.example';
const LOCAL = 'http://127.0.0.1:3000';

test.for([
  [PUBLIC, 'https://souk.example', true],
  [PUBLIC, 'https://souk.example/', true],
  [PUBLIC, 'https://souk.example/mcp', true],
  [PUBLIC, 'https://souk.example/mcp/', true],
  [PUBLIC, 'HTTPS://SOUK.Example/mcp', true],
  [PUBLIC, 'https://souk.example:443/mcp', true],
  [PUBLIC, 'http://souk.example/mcp', false],
  [PUBLIC, 'https://souk.example:8443/mcp', false],
  [PUBLIC, 'https://souk.example.evil.example/mcp', false],
  [PUBLIC, 'https://souk.example/mcp?x=1', false],
  [PUBLIC, 'https://souk.example/other', false],
  [PUBLIC, 'https://localhost/mcp', false],
  [PUBLIC, 'mcp', false],
  [LOCAL, 'http://127.0.0.1:3000/mcp', true],
  [LOCAL, 'http://localhost:3000/mcp', true],
  [LOCAL, 'http://[::1]:3000/mcp', true],
  [LOCAL, 'http://localhost:3001/mcp', false],
  [LOCAL, 'http://192.0.2.1:3000/mcp', false],
] as const)('for the service %s, the resource %s is its own: %s', ([issuer, indicator, expected]) => {
  expect(isOwnResource(indicator, issuer)).toBe(expected);
});
