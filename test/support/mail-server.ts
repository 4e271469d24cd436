import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { createSignals } from './signals.ts';

/** How the server treats a message: takes it, replies with an error, or closes the connection in the middle of it. */
export type Reaction = 'take' | 'hang up' | { code: number; at: 'RCPT' | 'DATA' };

/** A mail server on 127.0.0.1 that keeps what it has taken. */
export interface MailServer {
  url: string;
  /** The messages it has taken, parsed. */
  taken: Email[];
  /** The number of messages it was offered, taken or not. */
  attempts: number;
  /** Sets how it treats the following messages. */
  react(reaction: Reaction): void;
  /** Forgets what it has taken, and takes the following messages. */
  reset(): void;
  /** Waits for this many taken messages. */
  received(howMany: number): Promise<Email[]>;
  close(): Promise<void>;
}

export async function openMailServer(): Promise<MailServer> {
  let reaction: Reaction = 'take';
  const signals = createSignals(() => mails.taken.map(({ subject }) => subject));
  const refusal = (code: number) => Object.assign(new Error('refused by the test'), { responseCode: code });
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    closeTimeout: 1_000,
    onRcptTo(_address, _session, done) {
      mails.attempts += 1;
      done(typeof reaction === 'object' && reaction.at === 'RCPT' ? refusal(reaction.code) : undefined);
    },
    onData(stream, _session, done) {
      if (reaction === 'hang up') {
        for (const { _socket: socket } of server.connections) socket.destroy();
        return;
      }
      const given = reaction;
      const end = async () => {
        try {
          const mail = await PostalMime.parse(await buffer(stream));
          if (typeof given === 'object') return done(refusal(given.code));
          mails.taken.push(mail);
          signals.changed();
          return done();
        } catch (error) {
          // A service that stops in the middle of a mail closes the connection.
          return done(error as Error);
        }
      };
      void end();
    },
  });
  const mails: MailServer = {
    url: '',
    taken: [],
    attempts: 0,
    react: (next) => {
      reaction = next;
    },
    reset() {
      reaction = 'take';
      mails.attempts = 0;
      mails.taken.length = 0;
    },
    received: (howMany) =>
      signals.until(`${howMany} mails`, () => (mails.taken.length >= howMany ? mails.taken : undefined)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
      }),
  };
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  mails.url = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  return mails;
}
