import { SoukError } from '../platform/errors.ts';
import type { KeySettings } from './key-settings.ts';
import { areInNetworks, networksOf } from './networks.ts';
import { areWithin } from './scopes.ts';

/**
 * Requires that a key gives another one only rights that it has itself. Caps are not compared, because a key that manages keys
 * has none. @throws SoukError KEY_RIGHTS_EXCEEDED that names the setting.
 */
export function requireWithin(settings: KeySettings, own: KeySettings): void {
  const { scopes, expiresAt, networks } = settings;
  if (!areWithin(scopes, own.scopes))
    throw exceeded('scopes', `must be among those of the key itself: ${own.scopes?.join(', ')}`);
  if (own.expiresAt && (expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) > own.expiresAt.getTime())
    throw exceeded(
      'expiresAt',
      `must not be later than that of the key itself, ${own.expiresAt.toISOString()}`,
    );
  if (own.networks && !(networks && areInNetworks(networksOf(networks), networksOf(own.networks))))
    throw exceeded('networks', `must be parts of those of the key itself: ${own.networks.join(', ')}`);
}

function exceeded(parameter: string, problem: string): SoukError {
  return new SoukError('KEY_RIGHTS_EXCEEDED', {
    message: `${parameter}: ${problem}`,
    metadata: { errors: [{ parameter, problem }] },
  });
}
