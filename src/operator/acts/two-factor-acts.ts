import {
  addOperatorTwoFactor,
  removeOperatorTwoFactor,
  verifyOperatorCode,
} from '../../accounts/operator-two-factor.ts';
import { endOtherOperatorSessions } from '../../accounts/sessions.ts';
import type { SecretBox } from '../../platform/secret-box.ts';
import { type AuditLine, audited, type Operating } from '../audit/audit-log.ts';

const REMOVED: AuditLine = { action: 'operator.two-factor-removed' };

/** Two-factor sign-in of the operator, for the console and the command. */
export const twoFactorActs = {
  /**
   * Turns it on, and ends the operator's sessions that were started without a code.
   * @param tokenHash the session of this request, which remains.
   * @returns the recovery codes; null for an incorrect code, or if it is on.
   */
  add(
    by: Operating,
    {
      secretBox,
      tokenHash,
      ...given
    }: { secretBox: SecretBox; tokenHash: Buffer; secret: string; code: string },
  ): Promise<string[] | null> {
    return audited<string[] | null>(by, async (client) => {
      const codes = await addOperatorTwoFactor(client, secretBox, { ...given, now: by.now });
      if (codes === null) return { result: null, line: null };
      await endOtherOperatorSessions(client, tokenHash);
      return { result: codes, line: { action: 'operator.two-factor-added' } };
    });
  },

  /** Turns it off with a code. @returns false if the code is not valid. */
  remove(by: Operating, { secretBox, code }: { secretBox: SecretBox; code: string }): Promise<boolean> {
    return audited<boolean>(by, async (client) => {
      if (!(await verifyOperatorCode(client, secretBox, { code, now: by.now })))
        return { result: false, line: null };
      return { result: await removeOperatorTwoFactor(client), line: REMOVED };
    });
  },

  /** Turns it off without a code, for an operator who has neither the app nor recovery codes. @returns false if it was not on. */
  reset(by: Operating): Promise<boolean> {
    return audited(by, async (client) => ({ result: await removeOperatorTwoFactor(client), line: REMOVED }));
  },
};
