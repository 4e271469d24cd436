import {
  type Announcement,
  createAnnouncement,
  endAnnouncement,
  type NewAnnouncement,
} from '../announcements.ts';
import { audited, type Operating } from '../audit/audit-log.ts';
import { addNote } from '../status/incident-notes.ts';

/** Acts of the operator on what all visitors see: announcements, and notes to incidents. */
export const noticeActs = {
  /** @returns null if the announcement would end before it starts, or has ended. */
  announce(by: Operating, fields: NewAnnouncement): Promise<Announcement | null> {
    return audited(by, async (client) => {
      const made = await createAnnouncement(client, fields, by.now);
      if (!made) return { result: null, line: null };
      const { id, ...after } = made;
      return { result: made, line: { action: 'announcement.created', target: String(id), after } };
    });
  },

  /** Ends an announcement now. @returns null if there is no such announcement that has not ended. */
  endAnnouncement(by: Operating, id: number): Promise<Announcement | null> {
    return audited(by, async (client) => {
      const ended = await endAnnouncement(client, id, by.now);
      return { result: ended, line: ended && { action: 'announcement.ended', target: String(id) } };
    });
  },

  /** @returns false if there is no such incident. */
  noteIncident(by: Operating, id: number, text: string): Promise<boolean> {
    return audited(by, async (client) => {
      const isNoted = await addNote(client, id, { at: new Date(by.now).toISOString(), text });
      return {
        result: isNoted,
        line: isNoted ? { action: 'incident.noted', target: String(id), after: { text } } : null,
      };
    });
  },
};
