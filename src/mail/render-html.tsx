import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Block, Content } from './kinds/content.ts';
import { ALWAYS_SENT, type Frame, SWITCH_OFF } from './render-text.ts';

/** Renders a mail as HTML. Styles are attributes, because mail programs ignore style sheets; all text is escaped. */
export function renderHtml(content: Content, { publicUrl, unsubscribeUrl }: Frame): string {
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
          {unsubscribeUrl === null ? ALWAYS_SENT : <a href={unsubscribeUrl}>{SWITCH_OFF}</a>}
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
