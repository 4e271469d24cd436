import { lockOperatorTwoFactor, verifyOperatorCode } from '../../accounts/operator-two-factor.ts';
import { beginSession, endSession } from '../../accounts/sessions.ts';
import type { SecretBox } from '../../platform/secret-box.ts';
import { audited, type Operating } from '../audit/audit-log.ts';

/** Signing in to the console and out of it. */
export const sessionActs = {
  /** Signs in with the token alone. @returns the token of the session; null if two-factor sign-in is on. */
  begin(by: Operating, credential: Buffer): Promise<string | null> {
    return audited<string | null>(by, async (client) => {
      // A session that starts while the second factor is turned on either sees it here, or is ended by it.
      if (await lockOperatorTwoFactor(client)) return { result: null, line: null };
      const token = await beginSession(client, { credential }, by.now);
      return { result: token, line: { action: 'session.started' } };
    });
  },

  /** Signs in with a code after the token. @returns the token of the session; null if the code is not valid. */
  beginWithCode(
    by: Operating,
    credential: Buffer,
    { secretBox, code }: { secretBox: SecretBox; code: string },
  ): Promise<string | null> {
    return audited<string | null>(by, async (client) => {
      if (!(await verifyOperatorCode(client, secretBox, { code, now: by.now })))
        return { result: null, line: null };
      const token = await beginSession(client, { credential }, by.now);
      return { result: token, line: { action: 'session.started', after: { twoFactor: true } } };
    });
  },

  end(by: Operating, tokenHash: Buffer): Promise<void> {
    return audited(by, async (client) => ({
      result: await endSession(client, tokenHash),
      line: { action: 'session.ended' },
    }));
  },
};
