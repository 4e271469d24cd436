import type { FastifyRequest } from 'fastify';
import { SoukError } from '../../platform/errors.ts';
import { atEnd } from '../plugins/request-end.ts';

/** Resources of a process that a request occupies until it is answered. */
export type Occupied = 'waiting' | 'streams' | 'uploads' | 'downloads' | 'pages';

/** Requests that an account may have open at once in one gateway; null: no limit. */
export type OpenRequestLimits = Record<Occupied, number | null>;

const NAMES: Record<Occupied, string> = {
  waiting: 'requests',
  streams: 'event streams',
  uploads: 'uploads',
  downloads: 'downloads',
  pages: 'pages',
};

/** Counts the open requests of each account in this process. */
export interface OpenRequests {
  /** Counts a request of an account until it ends. @throws SoukError TOO_MANY_OPEN. */
  open(kind: Occupied, accountId: number, request: FastifyRequest): void;
}

export function createOpenRequests(limits: OpenRequestLimits): OpenRequests {
  const counts = Object.fromEntries(Object.keys(NAMES).map((kind) => [kind, new Map<number, number>()]));
  return {
    open(kind, accountId, request) {
      const limit = limits[kind];
      const countBy = counts[kind] as Map<number, number>;
      if (limit === null) return;
      const open = countBy.get(accountId) ?? 0;
      if (open >= limit) {
        throw new SoukError('TOO_MANY_OPEN', {
          message: `This account has ${open} open ${NAMES[kind]}; at most ${limit} are allowed at the same time.`,
          retryAfterSeconds: 1,
          metadata: { open, limit },
        });
      }
      countBy.set(accountId, open + 1);
      atEnd(request, () => {
        const left = (countBy.get(accountId) ?? 1) - 1;
        if (left > 0) countBy.set(accountId, left);
        else countBy.delete(accountId);
      });
    },
  };
}
