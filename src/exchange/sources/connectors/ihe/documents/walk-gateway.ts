import {
  type Attachment,
  SourceFailure,
  type SourcePage,
} from '../../connector.ts';
import { type Gateway, mayPass } from '../gateway.ts';
import { communityAddress, listCommunityDocuments } from './list-documents.ts';
import {
  type GatewayPlan,
  isDone,
  isListing,
  type PlannedDocument,
} from './plan.ts';
import {
  HELD_BYTES_MAX,
  type MissingDocument,
  retrieveDocuments,
} from './retrieve-documents.ts';
import { streamDocument } from './stream-document.ts';

/** What fails for this long is left out, and said, unless all fails. */
const LATER_MS_MAX = 2 * 60 * 60_000;
/** After so many failures in a row, the gateway itself is away. */
const FAILURES_MAX = 2;
/** Reasons are for people to read. */
const REASONS_MAX = 3;

/**
 * Runs a plan and yields a page after each request: the documents that a
 * community lists, then batch after batch of them. What fails and may work later
 * is tried again when all else is done; a page without content then keeps the
 * position. A gateway that fails twice in a row fails the step, which goes on
 * after the last page once it is back.
 */
export async function* walkGateway(
  gateway: Gateway,
  plan: GatewayPlan,
  signal: AbortSignal,
): AsyncGenerator<SourcePage> {
  const walk = new GatewayWalk(gateway, plan, signal);
  do yield await walk.nextPage();
  while (!walk.isOver);
}

class GatewayWalk {
  isOver = false;
  private plan: GatewayPlan;
  private readonly gateway: Gateway;
  private readonly signal: AbortSignal;
  private failuresInRow = 0;
  private hasSucceeded = false;
  /** Whether the large document of the last page was other than described. */
  private differed: (() => boolean) | undefined;

  constructor(gateway: Gateway, plan: GatewayPlan, signal: AbortSignal) {
    this.gateway = gateway;
    this.plan = plan;
    this.signal = signal;
  }

  async nextPage(): Promise<SourcePage> {
    const content = await this.nextContent();
    const before = this.differed?.() === true ? [DIFFERS] : [];
    this.differed = content.differs;
    const warnings = [...before, ...(content.warnings ?? [])];
    const { gaps = [] } = content;
    // What a large document was like is known only after its page.
    this.isOver = isDone(this.plan) && content.differs === undefined;
    return {
      resources: [],
      patientIds: this.plan.patients.map(({ id }) => id),
      raw: NOTHING_RECEIVED,
      attachments: [],
      skippedAttachments: 0,
      misattributedCount: 0,
      retracted: [],
      reportedErrors: 0,
      ...content.page,
      ...(gaps.length + warnings.length === 0
        ? {}
        : { reported: { gaps, warnings } }),
      next: this.isOver ? null : this.plan,
    };
  }

  private nextContent(): Promise<PageContent> | PageContent {
    const { unlisted, documents, later } = this.plan;
    const index =
      unlisted[0] ?? (documents.length > 0 ? undefined : later.unlisted[0]);
    if (index !== undefined) return this.list(index);
    const batch = this.nextBatch();
    const [first] = batch;
    if (first === undefined) return {};
    const isLarge =
      first.mark === 'large' || (first.sizeBytes ?? 0) > HELD_BYTES_MAX;
    return isLarge ? this.stream(first) : this.retrieve(batch);
  }

  /** The next documents of one patient at one address. */
  private nextBatch(): PlannedDocument[] {
    const { documents, later } = this.plan;
    const [first] = documents;
    if (first === undefined) return later.documents.slice(0, 1);
    if (first.mark !== undefined) return [first];
    const { documentsPerRetrieval } = this.gateway.settings;
    const addressOf = ({ homeCommunity }: PlannedDocument) =>
      communityAddress(this.gateway, homeCommunity).retrieveUrl;
    let sizeBytes = 0;
    const batch: PlannedDocument[] = [];
    for (const document of documents.slice(0, documentsPerRetrieval)) {
      sizeBytes += document.sizeBytes ?? 0;
      const fits =
        document.mark === undefined &&
        document.patient === first.patient &&
        addressOf(document) === addressOf(first) &&
        (batch.length === 0 || sizeBytes <= HELD_BYTES_MAX);
      if (!fits) break;
      batch.push(document);
    }
    return batch;
  }

  private async list(index: number): Promise<PageContent> {
    const patient = this.plan.patients[index];
    if (patient === undefined)
      throw new Error('the plan names no such patient');
    const listed = await listCommunityDocuments(
      this.gateway,
      patient,
      index,
      this.signal,
    ).catch((error: unknown) => this.failed(error));
    if (listed instanceof SourceFailure)
      return this.unlisted(index, patient.homeCommunity, listed);
    this.succeeded();
    const known = new Set(this.plan.listed);
    const stored = new Set(this.plan.stored);
    const outdated = new Set(this.plan.outdated);
    const { documents, onDemandIds } = listed;
    const hasNew = documents.some(
      ({ id }) => !stored.has(id) && !onDemandIds.has(id),
    );
    const isDue = ({ id }: PlannedDocument): boolean =>
      !known.has(id) &&
      (!stored.has(id) ||
        (onDemandIds.has(id) && (hasNew || outdated.has(id))));
    const references = listed.references.filter(
      ({ id = '' }) => !known.has(id),
    );
    this.change({
      ...withoutPatient(this.plan, index),
      isListed: true,
      documents: [...this.plan.documents, ...documents.filter(isDue)],
      listed: [...known, ...references.map(({ id = '' }) => id)],
    });
    return {
      page: {
        resources: references,
        raw: listed.raw,
        misattributedCount: listed.othersCount,
      },
      ...listed.reported,
    };
  }

  /** What becomes of a community that did not list its documents. */
  private unlisted(
    index: number,
    homeCommunity: string,
    failure: SourceFailure,
  ): PageContent {
    const { patients, isListed } = this.plan;
    const rest = withoutPatient(this.plan, index);
    const isOnly = patients.length === 1 || (!isListed && !isListing(rest));
    if (isOnly || failure.kind === 'job-failed') throw failure;
    if (mayPass(failure) && !this.isOverdue()) {
      const isSecond = this.plan.later.unlisted.includes(index);
      this.postpone(rest, { unlisted: [index] }, failure, isSecond);
      return {};
    }
    this.change(rest);
    return {
      gaps: [
        `the documents of the community ${homeCommunity} could not be listed (${failure.message})`,
      ],
    };
  }

  private async retrieve(batch: PlannedDocument[]): Promise<PageContent> {
    const retrieval = await retrieveDocuments(
      this.gateway,
      this.plan.patients,
      batch,
      this.signal,
    ).catch((error: unknown) => this.failed(error));
    if (retrieval instanceof SourceFailure) {
      if (retrieval.kind === 'denied' || retrieval.kind === 'job-failed')
        throw retrieval;
      const missing = batch.map((asked) => ({ asked, failure: retrieval }));
      return this.missed(batch, missing, []);
    }
    this.succeeded();
    const { attachments, missing, unaskedCount, differingCount } = retrieval;
    return {
      ...(await this.missed(batch, missing, attachments)),
      warnings: [
        ...(unaskedCount > 0 ? [UNASKED] : []),
        ...(differingCount > 0 ? [DIFFERS] : []),
      ],
    };
  }

  /**
   * Goes on after a batch. A document that did not come is asked for once more,
   * alone, because a gateway may fail all for the sake of one; as long as it may
   * come later, again.
   */
  private async missed(
    batch: readonly PlannedDocument[],
    missing: readonly MissingDocument[],
    attachments: Attachment[],
  ): Promise<PageContent> {
    const rest = withoutDocuments(this.plan, batch);
    const large: PlannedDocument[] = [];
    const again: PlannedDocument[] = [];
    const skipped: SourceFailure[] = [];
    let passing: SourceFailure | undefined;
    for (const { asked, failure, isLarge } of missing) {
      if (isLarge === true) large.push({ ...asked, mark: 'large' });
      else if (mayPass(failure) && !this.isOverdue()) {
        passing = failure;
        again.push({ ...asked, mark: 'again' });
      } else if (batch.length > 1) again.push({ ...asked, mark: 'again' });
      else skipped.push(failure);
    }
    const withLarge = { ...rest, documents: [...large, ...rest.documents] };
    const isStuck = attachments.length + large.length === 0;
    if (again.length === 0) this.change(withLarge);
    else if (passing === undefined || !isStuck)
      this.change(laterToo(withLarge, { documents: again }, this.now()));
    else {
      await this.throwIfAway(batch, passing);
      const isSecond = batch.length === 1 && batch[0]?.mark === 'again';
      this.postpone(withLarge, { documents: again }, passing, isSecond);
    }
    return {
      page: {
        attachments,
        skippedAttachments: skipped.length,
        ...(skipped.length === 0
          ? {}
          : {
              skippedReasons: [
                ...new Set(skipped.map(({ message }) => message)),
              ].slice(0, REASONS_MAX),
            }),
      },
    };
  }

  private stream(document: PlannedDocument): PageContent {
    const { patients } = this.plan;
    const { attachment, differs } = streamDocument(
      this.gateway,
      patients,
      document,
      this.signal,
    );
    this.change(withoutDocuments(this.plan, [document]));
    return { page: { largeAttachment: attachment }, differs };
  }

  /**
   * Puts off what failed, unless it has been put off before, or the gateway
   * itself seems to be away.
   */
  private postpone(
    rest: GatewayPlan,
    failed: Partial<Pick<GatewayPlan, 'unlisted' | 'documents'>>,
    failure: SourceFailure,
    isSecond: boolean,
  ): void {
    this.failuresInRow += 1;
    if (isSecond || this.failuresInRow >= FAILURES_MAX) throw failure;
    this.change(laterToo(rest, failed, this.now()));
  }

  /**
   * The first request of a step may have met a gateway that is away. What it
   * lists tells whether only these documents fail.
   */
  private async throwIfAway(
    [first]: readonly PlannedDocument[],
    failure: SourceFailure,
  ): Promise<void> {
    const patient = this.plan.patients[first?.patient ?? 0];
    if (this.hasSucceeded || patient === undefined) return;
    const probe = await listCommunityDocuments(
      this.gateway,
      patient,
      0,
      this.signal,
    ).catch((error: unknown) => this.failed(error));
    if (probe instanceof SourceFailure && mayPass(probe)) throw failure;
  }

  private succeeded(): void {
    this.failuresInRow = 0;
    this.hasSucceeded = true;
  }

  private isOverdue(): boolean {
    const { since } = this.plan.later;
    return (
      since !== undefined &&
      this.gateway.now() - Date.parse(since) > LATER_MS_MAX
    );
  }

  private now(): string {
    return new Date(this.gateway.now()).toISOString();
  }

  private change(plan: GatewayPlan): void {
    // Needed only while documents are being listed.
    this.plan = isListing(plan)
      ? plan
      : { ...plan, listed: [], stored: [], outdated: [] };
  }

  /** A failure of the source, for the plan to deal with. */
  private failed(error: unknown): SourceFailure {
    if (error instanceof SourceFailure && !this.signal.aborted) return error;
    throw error;
  }
}

/** What one request adds to its page. */
interface PageContent {
  page?: Partial<SourcePage>;
  gaps?: readonly string[];
  warnings?: readonly string[];
  differs?: () => boolean;
}

const NOTHING_RECEIVED = {
  bytes: Buffer.alloc(0),
  contentType: 'application/soap+xml',
};

// Without numbers: the timeline has each of these once.
const DIFFERS =
  'The size or hash of a document is other than its list says; it was kept as it came';
const UNASKED = 'Documents that nobody asked for came, and were discarded';

function withoutPatient(plan: GatewayPlan, index: number): GatewayPlan {
  const others = (each: number) => each !== index;
  return {
    ...plan,
    unlisted: plan.unlisted.filter(others),
    later: { ...plan.later, unlisted: plan.later.unlisted.filter(others) },
  };
}

function withoutDocuments(
  plan: GatewayPlan,
  done: readonly PlannedDocument[],
): GatewayPlan {
  const ids = new Set(done.map(({ id }) => id));
  const others = ({ id }: PlannedDocument) => !ids.has(id);
  return {
    ...plan,
    documents: plan.documents.filter(others),
    later: { ...plan.later, documents: plan.later.documents.filter(others) },
  };
}

const laterToo = (
  plan: GatewayPlan,
  { unlisted = [], documents = [] }: Partial<GatewayPlan>,
  now: string,
): GatewayPlan => ({
  ...plan,
  later: {
    unlisted: [...plan.later.unlisted, ...unlisted],
    documents: [...plan.later.documents, ...documents],
    since: plan.later.since ?? now,
  },
});
