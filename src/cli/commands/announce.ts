import type { Command } from 'commander';
import { z } from 'zod';
import { noticeActs } from '../../operator/acts/sale-acts.ts';
import { type Announcement, announcementFields, listAnnouncements } from '../../operator/announcements.ts';
import {
  type Context,
  type Given,
  OperatorError,
  onDatabase,
  type Report,
  readInput,
  table,
} from '../terminal.ts';

const endInput = z.object({
  id: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the number of an announcement')
    .transform(Number),
});

export function registerAnnounce(program: Command): void {
  onDatabase(
    program
      .command('announce')
      .description('shows a message on all pages for some time')
      .requiredOption('--text <T>', 'plain text, at most 500 characters')
      .requiredOption('--until <T>', 'end, such as 2027-01-31T14:00:00Z')
      .option('--link <U>', 'address with more information')
      .option('--level <L>', 'info or warning', 'info')
      .option('--audience <A>', 'everyone or signed-in', 'everyone')
      .option('--from <T>', 'start (default: now)'),
    announce,
  );
  const announcements = program.command('announcements').description('manages announcements');
  onDatabase(announcements.command('list').description('lists announcements, newest first'), list);
  onDatabase(
    announcements
      .command('end')
      .description('ends an announcement now')
      .argument('<ID>', 'number of the announcement'),
    end,
  );
}

async function announce(context: Context, given: Given): Promise<Report> {
  const made = await noticeActs.announce(context, readInput(announcementFields, given));
  if (!made) throw new OperatorError('--until must be after --from, and in the future.');
  return { data: made, text: announcementTable([made]) };
}

async function list({ database }: Context): Promise<Report> {
  const announcements = await listAnnouncements(database);
  return { data: announcements, text: announcementTable(announcements) };
}

async function end(context: Context, given: Given): Promise<Report> {
  const { id } = readInput(endInput, given);
  const ended = await noticeActs.endAnnouncement(context, id);
  if (!ended) throw new OperatorError(`Announcement ${id} does not exist or has ended.`);
  return { data: ended, text: announcementTable([ended]) };
}

function announcementTable(announcements: readonly Announcement[]): string {
  return table(
    ['ID', 'Text', 'Link', 'Level', 'Audience', 'From', 'Until'],
    announcements.map(({ id, text, link, level, audience, startsAt, endsAt }) => [
      String(id),
      text,
      link,
      level,
      audience,
      startsAt,
      endsAt,
    ]),
  );
}
