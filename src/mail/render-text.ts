import type { Block, Content } from './kinds/content.ts';

/** What surrounds the text of a mail. */
export interface Frame {
  /** Address of the pages, without a trailing slash. */
  publicUrl: string;
  /** The address that switches off mails of this topic; null: they cannot be switched off. */
  unsubscribeUrl: string | null;
}

/** Renders a mail as plain text. */
export function renderText({ blocks }: Content, { publicUrl, unsubscribeUrl }: Frame): string {
  const parts = blocks.map((block) => blockText(block, publicUrl));
  const footer = unsubscribeUrl === null ? ALWAYS_SENT : `${SWITCH_OFF}: ${unsubscribeUrl}`;
  return `${[...parts, `-- \nSouk, ${publicUrl}\n${footer}`].join('\n\n')}\n`;
}

function blockText(block: Block, publicUrl: string): string {
  if (typeof block === 'string') return oneLine(block);
  if ('link' in block) return `${block.link}:\n${publicUrl}${block.path}`;
  return block.rows.map(([name, value]) => `${oneLine(name)}: ${oneLine(value)}`).join('\n');
}

/** Names that customers choose may have line breaks, which could pass for other parts of the mail. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ');
}

export const ALWAYS_SENT = 'Mails about the security of your account cannot be switched off.';
export const SWITCH_OFF = 'Switch off mails of this kind';
