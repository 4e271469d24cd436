import { describe, expect, test } from 'vitest';
import { type ChatMessage, chatBody, maskedChat } from '../../src/outbox/chat-message.ts';

const SLACK = 'https://hooks.slack.com/services/T0/B0/secret';
const DISCORD = 'https://discord.com/api/webhooks/1/secret';
const WORKFLOW =
  'https://prod-1.westeurope.logic.azure.com:443/workflows/1/triggers/manual/paths/invoke?sig=secret';
const CONNECTOR = 'https://example.webhook.office.com/webhookb2/secret';

const message: ChatMessage = {
  title: '2 alerts: Lamps',
  lines: [
    { name: 'red <lamp>', text: 'Entered: rank 1,250, was 1,730; bound 1,500' },
    { name: '@everyone', text: 'Left: rank 9' },
  ],
  more: 3,
  link: { text: 'Open the tracker', url: 'https://souk.example/account/1/trackers/2' },
};

const many = (length: number, text: string): ChatMessage => ({
  ...message,
  lines: Array.from({ length }, (_, i) => ({ name: `term ${i}`, text })),
});

/** The text of all blocks of a message in the form of Slack. */
const slackTexts = (body: object) =>
  (body as { blocks: { text: { text: string } }[] }).blocks.map(({ text }) => text.text);

test('a message to Slack has a text for notifications, and blocks without markup of its own', () => {
  const body = chatBody(SLACK, message);
  expect(body).toMatchObject({ text: '2 alerts: Lamps' });
  expect(slackTexts(body)).toEqual([
    '2 alerts: Lamps',
    '• *red &lt;lamp&gt;*: Entered: rank 1,250, was 1,730; bound 1,500\n• *@everyone*: Left: rank 9',
    '3 more\n<https://souk.example/account/1/trackers/2|Open the tracker>',
  ]);
});

test('a message to Discord is a content without mentions', () => {
  expect(chatBody(DISCORD, message)).toEqual({
    content: [
      '**2 alerts: Lamps**',
      '- **red \\<lamp\\>**: Entered: rank 1,250, was 1,730; bound 1,500',
      '- **@everyone**: Left: rank 9',
      '3 more',
      '[Open the tracker](<https://souk.example/account/1/trackers/2>)',
    ].join('\n'),
    allowed_mentions: { parse: [] },
  });
});

test('a message to a workflow of Teams is an adaptive card, and one to a connector a message card', () => {
  const card = chatBody(WORKFLOW, message) as {
    type: string;
    attachments: { content: { body: object[] } }[];
  };
  expect(card).toMatchObject({
    type: 'message',
    attachments: [
      { contentType: 'application/vnd.microsoft.card.adaptive', content: { type: 'AdaptiveCard' } },
    ],
  });
  expect(card.attachments[0]?.content.body[1]).toMatchObject({
    type: 'FactSet',
    facts: [{ title: 'red \\<lamp\\>', value: 'Entered: rank 1,250, was 1,730; bound 1,500' }, {}],
  });
  expect(chatBody(CONNECTOR, message)).toMatchObject({
    '@type': 'MessageCard',
    summary: '2 alerts: Lamps',
    sections: [{ facts: [{ name: 'red \\<lamp\\>' }, {}], text: '3 more' }],
    potentialAction: [{ '@type': 'OpenUri' }],
  });
});

test.for([
  ['https://ptb.discord.com/api/webhooks/1/x', 'content'],
  ['https://discord.com.example.org/api/webhooks/1/x', 'blocks'],
  ['https://default1.environment.api.powerplatform.com/powerautomate/x', 'attachments'],
  ['https://outlook.office.com/webhook/x', 'sections'],
  ['https://mattermost.example.org/hooks/x', 'blocks'],
  ['http://127.0.0.1:8080/x', 'blocks'],
] as const)('the host of %s determines the form', ([address, field]) => {
  expect(chatBody(address, message)).toHaveProperty(field);
});

describe('long messages', () => {
  test('name the number of the lines they leave out', () => {
    for (const address of [SLACK, WORKFLOW, CONNECTOR])
      expect(JSON.stringify(chatBody(address, many(25, 'Left')))).toContain('8 more');
  });

  test('stay within the limits of Discord and Slack', () => {
    const long = many(20, 'x'.repeat(280));
    const { content } = chatBody(DISCORD, long) as { content: string };
    expect(content.length).toBeLessThanOrEqual(2_000);
    expect(content).toContain('17 more');
    const texts = slackTexts(chatBody(SLACK, { ...long, title: 'y'.repeat(400) }));
    expect(texts[0]?.length).toBeLessThanOrEqual(150);
    expect(Math.max(...texts.map(({ length }) => length))).toBeLessThanOrEqual(3_000);
  });

  test('are cut between characters, and have no line breaks of a title', () => {
    const { content } = chatBody(DISCORD, {
      ...message,
      lines: [{ name: 'a\nb', text: '💡'.repeat(400) }],
    }) as { content: string };
    expect(content).toContain('**a b**');
    expect(content.isWellFormed()).toBe(true);
  });
});

test('an address is shown by its host only', () => {
  expect(maskedChat(new URL(SLACK).host)).toBe('hooks.slack.com/***');
});
