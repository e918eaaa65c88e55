import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { v7 as uuidv7 } from 'uuid';
import {
  type MembershipSettings,
  membershipSettingsSchema,
} from '../../delivery/responding-gateway/membership-settings.ts';
import {
  deleteMembership,
  findMembership,
  insertMembership,
  listMemberships,
  type StoredMembership,
  updateMembership,
} from '../../delivery/responding-gateway/membership-store.ts';
import { networkCertificatesOf } from '../../delivery/responding-gateway/trusted-members.ts';
import type { SystemTx } from '../../platform/database/database.ts';
import { optionName } from '../../sources/connectors/source-settings.ts';
import { auditAdmin, ofAccount, requireAccount } from './accounts.ts';
import {
  type AdminCommand,
  AdminError,
  type AdminTarget,
  shortTime,
} from './command.ts';

/** Settings as the command line has them; files are paths, or - for stdin. */
export interface MembershipOptions {
  homeCommunity?: string;
  organizationName?: string;
  /** Separated by commas. */
  purposes?: string;
  /** File: a line for each, `<OID>` or `<OID> <host>`. */
  communities?: string;
  requestsPerMinute?: number;
  sha1?: string;
  samlRole?: string;
  /** Of messages that come by XDR. */
  network?: string;
  /** File. */
  trust?: string;
}

/** `memberships create`: from now on, gateways of the network may ask. */
export const createMembershipCommand: AdminCommand<
  [MembershipOptions & { account: string; name: string; paused?: boolean }]
> = async ({ store }, { account: accountId, paused, ...options }) => {
  const name = options.name.trim();
  if (name.length < 1 || name.length > 60)
    throw new AdminError('--name must have 1 to 60 characters');
  if (options.trust === undefined)
    throw new AdminError(
      '--trust is required: the trust bundle of the network',
    );
  const membership = {
    id: uuidv7(),
    accountId,
    name,
    trusted: await trustedIn(options.trust),
    settings: await membershipSettings(options),
    enabled: paused !== true,
  };
  await ofAccount(store, accountId, async (tx) => {
    const others = await listMemberships(tx, accountId);
    if (others.some((other) => other.name === name))
      throw new AdminError(
        `The account already has a membership named ${name}`,
      );
    await insertMembership(tx, membership);
    await auditAdmin(tx, accountId, 'createMembership', membership.id);
  });
  return {
    document: { membership: shown(membership) },
    lines: [
      `Created the membership ${name} (${membership.id}).`,
      'Give the network this address, for ITI-55, ITI-38, ITI-39 and ITI-41:',
      `  https://<host>:<IHE_PORT>/ihe/${membership.id}`,
    ],
  };
};

export const listMembershipsCommand: AdminCommand<
  [string | undefined]
> = async ({ store }, accountId) => {
  const memberships = await store.asSystem(async (tx) => {
    if (accountId !== undefined) await requireAccount(tx, accountId);
    return listMemberships(tx, accountId);
  });
  return {
    document: { memberships: memberships.map(shown) },
    table: {
      head: [
        'membership',
        'account',
        'name',
        'home community',
        'may ask',
        'changed',
        'state',
      ],
      rows: memberships.map(({ settings, ...each }) => [
        each.id,
        each.accountId,
        each.name,
        settings.homeCommunity,
        `${settings.communities.length} communities`,
        shortTime(each.changedAt),
        each.enabled ? 'enabled' : 'paused',
      ]),
    },
  };
};

export const showMembershipCommand: AdminCommand<[string]> = async (
  { store },
  id,
) => {
  const document = shown(
    await store.asSystem((tx) => requiredMembership(tx, id)),
  );
  return {
    document: { membership: document },
    lines: [JSON.stringify(document, null, 2)],
  };
};

/** `memberships set`: the port knows it within seconds. */
export const setMembershipCommand: AdminCommand<
  [string, MembershipOptions]
> = async (target, id, options) => {
  const known = await target.store.asSystem((tx) => requiredMembership(tx, id));
  const settings = await membershipSettings(options, known.settings);
  const trusted =
    options.trust === undefined ? undefined : await trustedIn(options.trust);
  return changeMembership(target, id, 'setMembership', 'is changed', (tx) =>
    updateMembership(tx, id, {
      settings,
      ...(trusted === undefined ? {} : { trusted }),
    }),
  );
};

export const enableMembershipCommand: AdminCommand<[string, boolean]> = (
  target,
  id,
  enabled,
) =>
  changeMembership(
    target,
    id,
    enabled ? 'resumeMembership' : 'pauseMembership',
    enabled ? 'answers again' : 'is paused: nobody is answered',
    (tx) => updateMembership(tx, id, { enabled }),
  );

export const deleteMembershipCommand: AdminCommand<[string]> = (target, id) =>
  changeMembership(target, id, 'deleteMembership', 'is deleted', (tx) =>
    deleteMembership(tx, id),
  );

async function changeMembership(
  { store }: Pick<AdminTarget, 'store'>,
  id: string,
  operation: string,
  done: string,
  change: (tx: SystemTx) => Promise<void>,
) {
  const name = await store.asSystem(async (tx) => {
    const membership = await requiredMembership(tx, id);
    await change(tx);
    await auditAdmin(tx, membership.accountId, operation, id);
    return membership.name;
  });
  return {
    document: { membershipId: id, operation },
    lines: [`The membership ${name} ${done}.`],
  };
}

async function requiredMembership(
  tx: SystemTx,
  id: string,
): Promise<StoredMembership> {
  const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id);
  const membership = isId ? await findMembership(tx, id) : undefined;
  if (membership !== undefined) return membership;
  throw new AdminError(
    'Membership not found; give its id, as listed by: npm run admin -- memberships list',
  );
}

async function membershipSettings(
  options: MembershipOptions,
  known: Partial<MembershipSettings> = {},
): Promise<MembershipSettings> {
  const { communities, purposes, sha1 } = options;
  const given = {
    homeCommunity: options.homeCommunity,
    organizationName: options.organizationName,
    requestsPerMinute: options.requestsPerMinute,
    samlRole: options.samlRole,
    network: options.network,
    purposes: purposes?.split(',').map((each) => each.trim()),
    communities:
      communities === undefined ? undefined : await communitiesIn(communities),
    sha1: sha1 === undefined ? undefined : sha1 === 'true',
  };
  const parsed = membershipSettingsSchema.safeParse({
    ...known,
    ...Object.fromEntries(
      Object.entries(given).filter(([, value]) => value !== undefined),
    ),
  });
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    ({ path: [member, ...rest], message }) =>
      `${optionName(String(member))}${rest.length > 0 ? ` ${rest.join('.')}` : ''}: ${message}`,
  );
  throw new AdminError(
    `The membership is not valid:\n  ${problems.join('\n  ')}`,
  );
}

async function communitiesIn(
  path: string,
): Promise<{ homeCommunity: string; host?: string }[]> {
  const lines = (await contentOfFile('--communities', path)).split('\n');
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [homeCommunity = '', host] = line.split(/\s+/);
      return { homeCommunity, ...(host === undefined ? {} : { host }) };
    });
}

async function trustedIn(path: string): Promise<string> {
  const pem = await contentOfFile('--trust', path);
  try {
    return networkCertificatesOf(pem).map(String).join('');
  } catch (cause) {
    throw new AdminError(
      '--trust: the file must have certificates as PEM, each of them whole',
      { cause },
    );
  }
}

async function contentOfFile(option: string, path: string): Promise<string> {
  if (path === '-') return text(process.stdin);
  return readFile(path, 'utf8').catch((cause: unknown) => {
    throw new AdminError(
      `${option}: ${path} cannot be read; give a file, or - for stdin`,
      { cause },
    );
  });
}

/** Without the certificates' texts: their subjects and ends. */
const shown = ({
  id,
  accountId,
  name,
  enabled,
  settings,
  trusted,
}: Omit<StoredMembership, 'createdAt' | 'changedAt'>) => ({
  id,
  accountId,
  name,
  enabled,
  path: `/ihe/${id}`,
  ...settings,
  trusted: networkCertificatesOf(trusted).map(({ subject, validToDate }) => ({
    subject,
    validTo: validToDate,
  })),
});
