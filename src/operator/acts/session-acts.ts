import { beginSession, endSession } from '../../accounts/sessions.ts';
import { audited, type Operating } from '../audit/audit-log.ts';

/** Signing in to the console and out of it. */
export const sessionActs = {
  /** @returns the token of the session. */
  begin(by: Operating, credential: Buffer): Promise<string> {
    return audited(by, async (client) => ({
      result: await beginSession(client, { credential }, by.now),
      line: { action: 'session.started' },
    }));
  },

  end(by: Operating, tokenHash: Buffer): Promise<void> {
    return audited(by, async (client) => ({
      result: await endSession(client, tokenHash),
      line: { action: 'session.ended' },
    }));
  },
};
