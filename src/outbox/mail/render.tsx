import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Block, Content } from './kinds/content.ts';

/** The parts of a mail around its text. */
interface Frame {
  /** Address of the pages, without a trailing slash. */
  publicUrl: string;
  /** The address that switches off mails of this topic; null: they cannot be switched off. */
  unsubscribeUrl: string | null;
  /** The last line of a mail that cannot be switched off. Default: `ALWAYS_SENT`. */
  footer?: string | undefined;
}

/** Renders a mail as plain text. */
export function renderText(
  { blocks }: Content,
  { publicUrl, unsubscribeUrl, footer = ALWAYS_SENT }: Frame,
): string {
  const parts = blocks.map((block) => blockText(block, publicUrl));
  const last = unsubscribeUrl === null ? footer : `${SWITCH_OFF}: ${unsubscribeUrl}`;
  return `${[...parts, `-- \nSouk, ${publicUrl}\n${last}`].join('\n\n')}\n`;
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

const ALWAYS_SENT = 'Mails about the security of your account cannot be switched off.';
const SWITCH_OFF = 'Switch off mails of this kind';

/** Renders a mail as HTML. Styles are attributes, because mail programs ignore style sheets; all text is escaped. */
export function renderHtml(
  content: Content,
  { publicUrl, unsubscribeUrl, footer = ALWAYS_SENT }: Frame,
): string {
  const { subject, blocks } = content;
  return `<!doctype html>${renderToString(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>{subject}</title>
      </head>
      <body style={BODY}>
        <h1 style="font-size:20px">{subject}</h1>
        {blocks.map((block, i) => (
          <BlockPart key={i} block={block} publicUrl={publicUrl} />
        ))}
        <p style={FOOTER}>
          Souk, <a href={publicUrl}>{publicUrl}</a>
          <br />
          {unsubscribeUrl === null ? footer : <a href={unsubscribeUrl}>{SWITCH_OFF}</a>}
        </p>
      </body>
    </html>,
  )}`;
}

function BlockPart({ block, publicUrl }: { block: Block; publicUrl: string }): VNode {
  if (typeof block === 'string') return <p>{block}</p>;
  if ('link' in block)
    return (
      <p>
        <a href={`${publicUrl}${block.path}`} style={BUTTON}>
          {block.link}
        </a>
      </p>
    );
  return (
    <table style="border-collapse:collapse">
      {block.rows.map(([name, value], i) => (
        <tr key={i}>
          <th style={`${CELL};font-weight:normal;color:#555`}>{name}</th>
          <td style={CELL}>{value}</td>
        </tr>
      ))}
    </table>
  );
}

const BODY =
  'font-family:system-ui,sans-serif;font-size:16px;line-height:1.5;max-width:600px;margin:24px auto;color:#111';
const BUTTON =
  'display:inline-block;padding:8px 16px;background:#0b5cad;color:#fff;text-decoration:none;border-radius:4px';
const CELL = 'padding:4px 16px 4px 0;text-align:left;vertical-align:top';
const FOOTER = 'margin-top:32px;font-size:13px;color:#555';
