import type { AttackCase } from '../attack-case.ts';

const FORM_TYPE = 'application/x-www-form-urlencoded';

export const signUps: AttackCase = {
  name: 'C2',
  what: 'signs up over 50 connections, from one address and from a new network each time in turn',
  async prepare({ target, attacker }) {
    const form = await fetch(`${target.gateway}/sign-up`);
    const cookie = form.headers
      .getSetCookie()
      .map((one) => one.split(';')[0])
      .join('; ');
    const token = /name="_csrf" value="([^"]*)"/.exec(await form.text())?.[1] ?? '';
    const signUpFrom = (address: string, name: string) =>
      ({
        method: 'POST',
        path: '/sign-up',
        headers: { cookie, 'content-type': FORM_TYPE, 'x-forwarded-for': address },
        body: `_csrf=${encodeURIComponent(token)}&name=Attacker&password=correct+horse+battery&email=${name}-{n}@attack.example`,
      }) as const;
    const accountsOf = async (name: string) => {
      const { rows } = await target.database.query<{ count: number }>(
        'select count(*)::int as count from people where email like $1',
        [`${name}-%`],
      );
      return rows[0]?.count ?? 0;
    };
    return {
      attack: () =>
        attacker.flood({
          gateway: target.gateway,
          connections: 50,
          seconds: 15,
          requests: [signUpFrom('192.0.2.1', 'one'), signUpFrom('{network}', 'many')],
        }),
      async judge() {
        const [one, many] = [await accountsOf('one'), await accountsOf('many')];
        return {
          notes: [`${one} accounts from one address, ${many} from many networks`],
          faults: one <= 5 ? [] : [`one address created ${one} accounts and may create 5`],
        };
      },
    };
  },
};
