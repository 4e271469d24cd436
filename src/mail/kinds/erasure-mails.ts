import { kind, timeText } from './content.ts';

export const erasurePlanned = kind<{ eraseAt: string }>({
  name: 'Account will be deleted',
  topic: null,
  causeOf: ({ eraseAt }) => eraseAt,
  content: ({ eraseAt }) => ({
    subject: 'Your account will be deleted',
    blocks: [
      `Your account and its personal data will be deleted at ${timeText(eraseAt)}. Until then the account works as before.`,
      'To keep the account, select "Keep my account" in its settings. If you did not request the deletion, set a new password, too.',
      { link: 'Settings', path: '/account/settings' },
    ],
  }),
});

/** The last mail to the owner of an account. It has no link, because the account does not exist any more. */
export const accountErased = kind<{ at: string }>({
  name: 'Account deleted',
  topic: null,
  isForgotten: true,
  causeOf: ({ at }) => at,
  content: ({ at }) => ({
    subject: 'Your account was deleted',
    blocks: [
      `Your account and its personal data were deleted at ${timeText(at)}. Purchases and the ledger are kept without your name and address, as book-keeping requires.`,
      'This is the last mail about this account. Your address is deleted from the list of mails as soon as this mail has been sent.',
    ],
  }),
});
