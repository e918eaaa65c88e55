import {
  type AuditChain,
  type SignedAuditHead,
  signedHeadSchema,
} from './chain.ts';

/**
 * Storage of the chain heads outside the database (external heads), so that
 * entries removed from the end of a chain are noticed. It should not be
 * writable with the credentials that can write the database.
 */
export interface AuditHeads {
  read(accountId: string): Promise<SignedAuditHead | undefined>;
  write(head: SignedAuditHead): Promise<void>;
  /** Ids of the accounts that have an external head. */
  accounts(): Promise<string[]>;
}

/**
 * An unreadable head becomes one with an invalid signature, so that
 * verification reports it.
 */
export function parseHead(text: string, accountId: string): SignedAuditHead {
  try {
    return signedHeadSchema.parse(JSON.parse(text));
  } catch {
    return unreadableHead(accountId);
  }
}

export const unreadableHead = (accountId: string): SignedAuditHead => ({
  accountId,
  position: 0,
  mac: '',
  sealedAt: '',
  signature: '',
});

interface HeadCopyReport {
  copied: string[];
  /** Accounts whose head is there already. */
  present: string[];
  /**
   * Accounts with a later head there: `from` is not where the workers write.
   */
  newerThere: string[];
  /**
   * Accounts with a head here or there that is not ours. It must be
   * investigated, and is not copied.
   */
  notOurs: string[];
}

/**
 * Copies the newest head of each account to another storage. May be repeated.
 * An older head never follows a newer one.
 */
export async function copyHeads({
  from,
  to,
  chain,
}: {
  from: AuditHeads;
  to: AuditHeads;
  chain: AuditChain;
}): Promise<HeadCopyReport> {
  const report: HeadCopyReport = {
    copied: [],
    present: [],
    newerThere: [],
    notOurs: [],
  };
  for (const accountId of await from.accounts()) {
    const head = await from.read(accountId);
    if (head === undefined) continue;
    const there = await to.read(accountId);
    const isOurs =
      chain.isSigned(head) && (there === undefined || chain.isSigned(there));
    if (!isOurs) report.notOurs.push(accountId);
    else if (there?.signature === head.signature)
      report.present.push(accountId);
    else if (there !== undefined && timeOf(there) > timeOf(head))
      report.newerThere.push(accountId);
    else {
      await to.write(head);
      report.copied.push(accountId);
    }
  }
  return report;
}

/**
 * Positions may begin again below after an accepted loss, so the time says
 * which head is newer.
 */
const timeOf = ({ sealedAt, gone }: SignedAuditHead): number =>
  Date.parse(gone?.at ?? sealedAt);
