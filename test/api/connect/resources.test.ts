import { expect, test } from 'vitest';
import { BASE_SCOPES, challenge, isOwnResource } from '../../../src/api/connect/resources.ts';

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

test('a refusal names where to sign in, and for which scopes', () => {
  const address = 'https://souk.example/.well-known/oauth-protected-resource/mcp';
  expect(challenge(address)).toBe(`Bearer scope="${BASE_SCOPES.join(' ')}", resource_metadata="${address}"`);
  expect(challenge(address, { error: 'insufficient_scope', scopes: ['read', 'schedules'] })).toBe(
    `Bearer error="insufficient_scope", scope="read schedules", resource_metadata="${address}"`,
  );
});
