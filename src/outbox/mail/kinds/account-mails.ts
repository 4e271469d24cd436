import { type KeyScopes, scopesInWords } from '../../../accounts/key-settings.ts';
import { ADMINS, type Block, kind, numberText, OWNERS, timeText } from './content.ts';

const NOT_YOU: readonly Block[] = [
  'If this was not you, set a new password now. All your sessions end with it.',
  { link: 'Set a new password', path: '/forgot-password' },
];

/** Facts of a mail that a customer requested. `requestId` distinguishes the requests. */
interface Requested {
  requestId: string;
}

/** Mails about people and the access to accounts. Stored mails have these names, so a name stays. */
export const ACCOUNT_MAILS = {
  new_sign_in: kind<{ at: string; network: string; browser: string }>({
    name: 'New sign-in',
    causeOf: ({ at, network }) => `${at} ${network}`,
    content: ({ at, network, browser }) => ({
      subject: 'A new sign-in to your account',
      blocks: [
        'A browser that has not signed in with your present password before has signed in to your profile.',
        {
          rows: [
            ['Time', timeText(at)],
            ['Network', network],
            ['Browser', browser],
          ],
        },
        ...NOT_YOU,
      ],
    }),
  }),

  password_changed: kind<{ at: string }>({
    name: 'Password changed',
    causeOf: ({ at }) => at,
    content: ({ at }) => ({
      subject: 'Your password was changed',
      blocks: [
        `Your password was changed at ${timeText(at)}. All other sessions have been signed out.`,
        ...NOT_YOU,
      ],
    }),
  }),

  key_created: kind<{ at: string; prefix: string }>({
    name: 'Key created',
    roles: ADMINS,
    causeOf: ({ at, prefix }) => `${prefix} ${at}`,
    content: ({ at, prefix }) => ({
      subject: 'A new API key for your account',
      blocks: [
        `The API key that begins with ${prefix} was created at ${timeText(at)}.`,
        'If this was not you, revoke the key, and set a new password.',
        { link: 'Your keys', path: '/account/keys' },
      ],
    }),
  }),

  connection_created: kind<{
    at: string;
    keyId: number;
    client: string;
    /** Where the person was sent back to; null: a device. */
    host: string | null;
    person: string | null;
    scopes: KeyScopes;
    capDay: number | null;
    capMonth: number | null;
    endsAt: string;
  }>({
    name: 'Program connected',
    roles: ADMINS,
    causeOf: ({ at, keyId }) => `${keyId} ${at}`,
    content: ({ at, keyId, client, host, person, scopes, capDay, capMonth, endsAt }) => ({
      subject: 'A program was connected to your account',
      blocks: [
        `A program was connected to your account at ${timeText(at)}${person === null ? '' : ` by ${person}`}.`,
        {
          rows: [
            ['Program, by its own name', client],
            ['Returned to', host ?? 'a device'],
            ['May', scopesInWords(scopes)],
            ['Units a day', capDay === null ? 'no cap' : `at most ${numberText(capDay)}`],
            ['Units a month', capMonth === null ? 'no cap' : `at most ${numberText(capMonth)}`],
            ['Ends', timeText(endsAt)],
          ],
        },
        'If you do not recognise the program, revoke the connection. All its requests are then refused.',
        { link: 'Change or revoke the connection', path: `/account/keys/${keyId}` },
      ],
    }),
  }),

  two_factor_changed: kind<{ at: string; isOn: boolean }>({
    name: 'Two-factor sign-in changed',
    causeOf: ({ at }) => at,
    content: ({ at, isOn }) => ({
      subject: `Two-factor sign-in was turned ${isOn ? 'on' : 'off'}`,
      blocks: [`Your two-factor sign-in was turned ${isOn ? 'on' : 'off'} at ${timeText(at)}.`, ...NOT_YOU],
    }),
  }),

  confirm_email: kind<Requested>({
    name: 'Confirm the address',
    token: 'confirm',
    causeOf: ({ requestId }) => requestId,
    content: (_facts, path) => ({
      subject: 'Confirm your e-mail address',
      blocks: [
        'An account of Souk uses this e-mail address. Confirm that the address is yours:',
        { link: 'Confirm the address', path },
        'The link works once, within 24 hours. If you did not create the account, ignore this mail.',
      ],
    }),
  }),

  confirm_new_email: kind<Requested & { present: string }>({
    name: 'Confirm the new address',
    token: 'confirm',
    causeOf: ({ requestId }) => requestId,
    content: (_facts, path) => ({
      subject: 'Confirm your new e-mail address',
      blocks: [
        'This e-mail address was entered as the new address of a Souk profile. Confirm that the address is yours:',
        { link: 'Use this address', path },
        'The link works once, within 24 hours. If you did not request the change, ignore this mail.',
      ],
    }),
  }),

  email_changing: kind<Requested & { newEmail: string }>({
    name: 'The address changes',
    causeOf: ({ requestId }) => requestId,
    content: ({ newEmail }) => ({
      subject: 'Your e-mail address is being changed',
      blocks: [
        `The new e-mail address ${newEmail} was entered for your profile. The change takes effect when the link in the mail to the new address is opened.`,
        'If you did not request the change, set a new password now. All your sessions end with it.',
        { link: 'Set a new password', path: '/forgot-password' },
      ],
    }),
  }),

  reset_password: kind<Requested>({
    name: 'Password link',
    token: 'reset',
    causeOf: ({ requestId }) => requestId,
    content: (_facts, path) => ({
      subject: 'Set a new password',
      blocks: [
        'A new password was requested for your profile. Set it here:',
        { link: 'Set a new password', path },
        'The link works once, within an hour. If you did not request it, ignore this mail: your password stays as it is.',
      ],
    }),
  }),

  erasure_planned: kind<{ eraseAt: string }>({
    name: 'Account will be deleted',
    roles: OWNERS,
    causeOf: ({ eraseAt }) => eraseAt,
    content: ({ eraseAt }) => ({
      subject: 'Your account will be deleted',
      blocks: [
        `Your account and its personal data will be deleted at ${timeText(eraseAt)}. Until then the account works as before.`,
        'To keep the account, select "Keep this account" in its settings. If you did not request the deletion, also set a new password.',
        { link: 'Settings', path: '/account/settings' },
      ],
    }),
  }),

  /** The last mail to the owner of an account. It has no link, because the account does not exist any more. */
  account_erased: kind<{ at: string }>({
    name: 'Account deleted',
    isForgotten: true,
    causeOf: ({ at }) => at,
    content: ({ at }) => ({
      subject: 'Your account was deleted',
      blocks: [
        `Your account and its personal data were deleted at ${timeText(at)}. Purchases and the ledger are kept without your name and address, as book-keeping requires.`,
        'This is the last mail about this account. Your address is deleted from the list of mails as soon as this mail has been sent.',
      ],
    }),
  }),

  invitation: kind<{
    requestId: string;
    accountName: string;
    by: string;
    role: string;
    invitationId: number;
  }>({
    name: 'Invitation',
    causeOf: ({ requestId }) => requestId,
    content: ({ accountName, by, role }, tokenPath) => ({
      subject: `${by} invites you to ${accountName}`,
      blocks: [
        `${by} invites you to the account ${accountName}, as ${role}. The link works once, within seven days.`,
        { link: 'See the invitation', path: tokenPath },
        'If you do not know the sender, ignore this mail.',
      ],
    }),
    token: 'invitation',
  }),
} as const;
