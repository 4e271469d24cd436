/** The chats whose incoming webhooks get messages. */
type ChatService = 'slack' | 'discord' | 'teams' | 'teams_connector';

/** A message, before it has the form of a chat. All texts are plain. */
export interface ChatMessage {
  title: string;
  /** What has happened, one line each. */
  lines: readonly { name: string; text: string }[];
  /** How many further lines the message leaves out. */
  more: number;
  /** null: the service has no pages. */
  link: { text: string; url: string } | null;
}

/** The most lines of a message. */
const MOST_LINES = 20;

const LONGEST_LINE = 300;

/** Discord refuses a longer text. */
const DISCORD_CHARACTERS = 2_000;
/** Slack refuses a longer header, and a longer section. */
const SLACK_HEADER = 150;
const SLACK_SECTION = 3_000;

const DISCORD_HOSTS = ['discord.com', 'discordapp.com'];
/** Workflows of Power Automate, which post what they receive as a card. */
const WORKFLOW_HOSTS = ['logic.azure.com', 'api.powerplatform.com'];
const CONNECTOR_HOSTS = ['webhook.office.com', 'outlook.office.com', 'outlook.office365.com'];

const NUMBER = new Intl.NumberFormat('en');

/** Returns the chat of an address by its host. Others than those of Discord and Teams get the form of Slack, which Mattermost and Rocket.Chat read, too. */
function chatOf(address: string): ChatService {
  const { hostname } = new URL(address);
  const isOf = (hosts: readonly string[]) =>
    hosts.some((host) => hostname === host || hostname.endsWith(`.${host}`));
  if (isOf(DISCORD_HOSTS)) return 'discord';
  if (isOf(WORKFLOW_HOSTS)) return 'teams';
  return isOf(CONNECTOR_HOSTS) ? 'teams_connector' : 'slack';
}

/** Returns an address without its secret part. @param host with its port. */
export function maskedChat(host: string): string {
  return `${host}/***`;
}

/** Returns the body of the request that posts a message. @param address of the incoming webhook; its host determines the form. */
export function chatBody(address: string, message: ChatMessage): object {
  const left = Math.max(0, message.lines.length - MOST_LINES);
  const bounded = {
    ...message,
    title: cut(oneLine(message.title), SLACK_HEADER),
    lines: message.lines.slice(0, MOST_LINES).map(({ name, text }) => ({
      name: cut(oneLine(name), LONGEST_LINE),
      text: cut(oneLine(text), LONGEST_LINE),
    })),
    more: message.more + left,
  };
  return BODIES[chatOf(address)](bounded);
}

const BODIES: Record<ChatService, (message: ChatMessage) => object> = {
  slack({ title, lines, more, link }) {
    const escaped = lines.map(({ name, text }) => `• *${slackText(name)}*: ${slackText(text)}`);
    const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text } });
    const end = [
      ...(more > 0 ? [moreText(more)] : []),
      ...(link ? [`<${link.url}|${slackText(link.text)}>`] : []),
    ].join('\n');
    return {
      // Shown in notifications, and by programs that know no blocks.
      text: slackText(title),
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: title } },
        ...inParts(escaped, SLACK_SECTION).map(section),
        ...(end === '' ? [] : [section(end)]),
      ],
    };
  },

  discord({ title, lines, more, link }) {
    const end = (left: number) => [
      ...(left > 0 ? [moreText(left)] : []),
      ...(link ? [`[${discordText(link.text)}](<${link.url}>)`] : []),
    ];
    const all = lines.map(({ name, text }) => `- **${discordText(name)}**: ${discordText(text)}`);
    const content = (shown: number) =>
      [`**${discordText(title)}**`, ...all.slice(0, shown), ...end(more + all.length - shown)].join('\n');
    let shown = all.length;
    while (shown > 0 && content(shown).length > DISCORD_CHARACTERS) shown -= 1;
    // No text of a product or a keyword calls the people of a channel.
    return { content: content(shown), allowed_mentions: { parse: [] } };
  },

  teams({ title, lines, more, link }) {
    const block = (text: string, others: object = {}) => ({ type: 'TextBlock', text, wrap: true, ...others });
    return {
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          contentUrl: null,
          content: {
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            type: 'AdaptiveCard',
            version: '1.4',
            msteams: { width: 'Full' },
            body: [
              block(markdownText(title), { weight: 'Bolder', size: 'Medium' }),
              {
                type: 'FactSet',
                facts: lines.map(({ name, text }) => ({
                  title: markdownText(name),
                  value: markdownText(text),
                })),
              },
              ...(more > 0 ? [block(moreText(more), { isSubtle: true })] : []),
            ],
            actions: link ? [{ type: 'Action.OpenUrl', title: link.text, url: link.url }] : [],
          },
        },
      ],
    };
  },

  teams_connector({ title, lines, more, link }) {
    return {
      '@type': 'MessageCard',
      '@context': 'https://schema.org/extensions',
      summary: title,
      title: markdownText(title),
      sections: [
        {
          facts: lines.map(({ name, text }) => ({ name: markdownText(name), value: markdownText(text) })),
          ...(more > 0 && { text: moreText(more) }),
        },
      ],
      potentialAction: link
        ? [{ '@type': 'OpenUri', name: link.text, targets: [{ os: 'default', uri: link.url }] }]
        : [],
    };
  },
};

function moreText(more: number): string {
  return `${NUMBER.format(more)} more`;
}

/** Joins lines to texts of at most a number of characters. */
function inParts(lines: readonly string[], most: number): string[] {
  const parts: string[] = [];
  for (const line of lines) {
    const last = parts.at(-1);
    if (last !== undefined && last.length + line.length < most) parts[parts.length - 1] = `${last}\n${line}`;
    else parts.push(line.slice(0, most));
  }
  return parts;
}

/** Slack reads these three characters as markup of links and mentions. */
function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('*', '∗');
}

function discordText(text: string): string {
  return text.replace(/[\\*_~`|>[\]()#<]/g, '\\$&');
}

function markdownText(text: string): string {
  return text.replace(/[\\*_`[\]<>#]/g, '\\$&');
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
