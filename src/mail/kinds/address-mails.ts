import { kind } from './content.ts';

/** Facts of a mail that a customer requested. `requestId` distinguishes the requests. */
interface Requested {
  requestId: string;
}

export const confirmEmail = kind<Requested>({
  name: 'Confirm the address',
  topic: null,
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
});

export const confirmNewEmail = kind<Requested>({
  name: 'Confirm the new address',
  topic: null,
  token: 'confirm',
  causeOf: ({ requestId }) => requestId,
  content: (_facts, path) => ({
    subject: 'Confirm your new e-mail address',
    blocks: [
      'An account of Souk is to use this e-mail address from now on. Confirm that the address is yours:',
      { link: 'Use this address', path },
      'The link works once, within 24 hours. If you did not request the change, ignore this mail.',
    ],
  }),
});

export const emailChanging = kind<Requested & { newEmail: string }>({
  name: 'The address changes',
  topic: null,
  causeOf: ({ requestId }) => requestId,
  content: ({ newEmail }) => ({
    subject: 'Your e-mail address is being changed',
    blocks: [
      `Your account is to use the e-mail address ${newEmail} instead of this one. The change takes effect when a link in a mail to the new address is opened.`,
      'If you did not request the change, set a new password now. All sessions of the account end with it.',
      { link: 'Set a new password', path: '/forgot-password' },
    ],
  }),
});

export const resetPassword = kind<Requested>({
  name: 'Password link',
  topic: null,
  token: 'reset',
  causeOf: ({ requestId }) => requestId,
  content: (_facts, path) => ({
    subject: 'Set a new password',
    blocks: [
      'A new password was requested for your account. Set it here:',
      { link: 'Set a new password', path },
      'The link works once, within an hour. If you did not request it, ignore this mail: your password stays as it is.',
    ],
  }),
});
