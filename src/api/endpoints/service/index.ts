import { getHealth } from './get-health.ts';
import { getOpenApi } from './get-openapi.ts';
import { getReadiness } from './get-readiness.ts';

/** Endpoints that need no key. */
export const SERVICE_ENDPOINTS = [getOpenApi, getHealth, getReadiness];
