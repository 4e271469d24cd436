import { type Block, kind, timeText } from './content.ts';

const NOT_YOU: readonly Block[] = [
  'If this was not you, set a new password now. All sessions of the account end with it.',
  { link: 'Set a new password', path: '/forgot-password' },
];

export const newSignIn = kind<{ at: string; network: string; browser: string }>({
  name: 'New sign-in',
  topic: null,
  causeOf: ({ at, network }) => `${at} ${network}`,
  content: ({ at, network, browser }) => ({
    subject: 'A new sign-in to your account',
    blocks: [
      'Your account was used in a browser that has not signed in before with the present password.',
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
});

export const passwordChanged = kind<{ at: string }>({
  name: 'Password changed',
  topic: null,
  causeOf: ({ at }) => at,
  content: ({ at }) => ({
    subject: 'Your password was changed',
    blocks: [
      `The password of your account was changed at ${timeText(at)}. All other sessions have been signed out.`,
      ...NOT_YOU,
    ],
  }),
});

export const keyCreated = kind<{ at: string; prefix: string }>({
  name: 'Key created',
  topic: null,
  causeOf: ({ at, prefix }) => `${prefix} ${at}`,
  content: ({ at, prefix }) => ({
    subject: 'A new API key for your account',
    blocks: [
      `The API key that begins with ${prefix} was created at ${timeText(at)}.`,
      'If this was not you, revoke the key, and set a new password.',
      { link: 'Your keys', path: '/account/keys' },
    ],
  }),
});

export const twoFactorChanged = kind<{ at: string; isOn: boolean }>({
  name: 'Two-factor sign-in changed',
  topic: null,
  causeOf: ({ at }) => at,
  content: ({ at, isOn }) => ({
    subject: `Two-factor sign-in was turned ${isOn ? 'on' : 'off'}`,
    blocks: [
      `Two-factor sign-in of your account was turned ${isOn ? 'on' : 'off'} at ${timeText(at)}.`,
      ...NOT_YOU,
    ],
  }),
});
