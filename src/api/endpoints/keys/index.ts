import { createApiKey } from './create-key.ts';
import { getApiKey } from './get-key.ts';
import { listApiKeys } from './list-keys.ts';
import { revokeApiKey } from './revoke-key.ts';
import { updateApiKey } from './update-key.ts';

/** API keys of an account, for keys that may manage keys. */
export const KEY_ENDPOINTS = [listApiKeys, createApiKey, getApiKey, updateApiKey, revokeApiKey];
