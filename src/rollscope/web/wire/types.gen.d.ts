/* Written by scripts/wire_types.py from the OpenAPI description; not to be edited. */

export interface Able {
  able: boolean;
  says: string;
}

export interface AdviceShape {
  text: string;
  source: string;
}

/** The glossary entry behind a name of any framework. */
export interface Answer {
  entry: EntryShape;
  asked: string;
  name: string;
  stat: string;
  scope: string;
  via: Record<string, any> | null;
}

/** Names as logged, runs and a step. */
export interface AskValues {
  runs: string[];
  names: string[];
  step: number;
}

/** A cause. `failed` has a count for each column of steps. */
export interface CauseRow {
  name: string;
  count: number;
  zeros: number;
  masked: number;
  steps: number;
  tasks: number;
  reads: string;
  failed: number[];
  samples: string[];
}

/** Entries to add, all or none. */
export interface Changes {
  changes: NewEntry[];
  after?: string | null;
}

/** Runs by id. */
export interface Chosen {
  ids: string[];
}

export interface ComparisonShape {
  groups: GroupShape[];
  claim: string;
  certainty: string;
  but: string;
  parting: string;
  measured: string;
  differs: DifferShape[];
  equal: Record<string, number>;
  files: string[];
  metrics: MetricShape[];
  outcomes: OutcomeShape[];
  settings: string[];
  sets: string[];
}

export interface CostShape {
  share: number;
  samples: number;
  tokens: number;
  gpu_hours: number | null;
  money: number | null;
  currency: string;
  why: string;
}

export interface DamageShape {
  file: string;
  byte: number;
  says: string;
}

export interface DeletedList {
  runs: DeletedShape[];
}

/** A run in the bin. */
export interface DeletedShape {
  id: string;
  author: string;
  time_ns: number;
}

/** A difference to the baseline; null ends: nothing says how sure it is. `at`: at that step. */
export interface DeltaShape {
  value: number | "NaN" | "Infinity" | "-Infinity" | null;
  difference: number | "NaN" | "Infinity" | "-Infinity" | null;
  low: number | "NaN" | "Infinity" | "-Infinity" | null;
  high: number | "NaN" | "Infinity" | "-Infinity" | null;
  runs: number;
  at: number | null;
}

export interface DeltasShape {
  projects: Record<string, ProjectDeltas>;
}

/** A thing that differs: one value for each group; null: it has none. */
export interface DifferShape {
  kind: string;
  key: string;
  values: any[];
}

/** An entry that several names share, with every framework's keys for it as they are written. */
export interface EntryBrief {
  meaning: string;
  good: string;
  also: string[];
}

export interface EntryRow {
  name: string;
  section: string;
  meaning: string;
  unit: string;
  also: string[];
}

/** One entry of the glossary. */
export interface EntryShape {
  name: string;
  section: string;
  meaning: string;
  definition: string;
  unit: string;
  kind: string;
  good: string;
  read: string;
  check: string[];
  example: string;
  range: (number | null)[];
  healthy: (number | null)[];
  stats: string[];
  scoped: boolean;
  producer: string;
  needs: string[];
  alarms: Record<string, any>[];
  names: Record<string, any>[];
}

/** Failures on a shared x: `steps` are the first steps of the columns, `until` ends the last. */
export interface EnvironmentShape {
  title: string;
  context: string;
  steps: number[];
  until: number;
  samples: number[];
  zeros: number[];
  failed: number;
  total: number;
  trained_as_zero: number;
  causes: CauseRow[];
  tasks: TaskRow[];
  task_count: number;
  step_count: number;
  workers: WorkerRow[];
  tools: ToolRow[];
  grading: (number | "NaN" | "Infinity" | "-Infinity" | null)[];
}

export interface EvalMark {
  step: number;
  set: string;
}

export interface EventShape {
  life: string;
  step: number;
  severity: string;
  time_ns: number | null;
}

export interface FactorList {
  on: string;
  graded: boolean;
  runs: number;
  says: string;
  factors: FactorShape[];
}

/** What the score did where a setting changed. */
export interface FactorShape {
  factor: string;
  usual: string;
  other: string;
  effect: number | "NaN" | "Infinity" | "-Infinity" | null;
  low: number | "NaN" | "Infinity" | "-Infinity" | null;
  high: number | "NaN" | "Infinity" | "-Infinity" | null;
  runs_with: number;
  runs_without: number;
  confounded: string[];
}

/** `resume` says for a rule's finding where to resume; `hears` whether the run can be asked. */
export interface FindingList {
  findings: FindingShape[];
  diagnosed: boolean;
  recovered: FindingShape[];
  rules: Record<string, string>[];
  skipped: SkippedShape[];
  told: ToldShape[];
  resume: Record<string, string>;
  hears: boolean;
  stop: StopShape | null;
}

export interface FindingShape {
  rule: string;
  title: string;
  order: string;
  severity: string;
  step: number;
  until: number | null;
  moments: number[];
  claim: string;
  evidence: string;
  metrics: string[];
  check: string[];
  advice: AdviceShape[];
  samples: string;
  sample_ids: string[];
  spans: SpanShape[];
  cost: CostShape | null;
  thresholds: string[];
  cause: string;
  life: EventShape[];
  teaches: string;
  hidden: boolean;
  why_hidden: string;
}

/** The name of the entry behind a name; if there is none, a sentence that says so. */
export interface FoundEntry {
  asked: string;
  entry: string;
  says: string;
}

/** What a name means on a run; if nothing, a sentence that says so. */
export interface FoundList {
  asked: string;
  found: FoundShape[];
  says: string;
}

/** The series of a run that a name means; its numbers are `scale` times those stored. */
export interface FoundShape {
  asked: string;
  stored: string;
  scale: number;
  unit: string;
  warning: string;
  why: string;
}

export interface Glossary {
  entries: EntryRow[];
  scenarios: Record<string, any>[];
  symptoms: Record<string, any>[];
}

/** Runs that stand together; the first is the one that was asked for. */
export interface GroupShape {
  letter: string;
  name: string;
  runs: string[];
}

export interface HTTPValidationError {
  detail?: ValidationError[];
}

export interface Health {
  version: string;
  web: string;
  lake_behind_seconds: number | null;
}

/** What a lake holds of a run: for each file kind, start, bytes, SHA-256 and time of objects. */
export interface Held {
  run: string;
  ship: number;
  files: Record<string, any[][]>;
}

/** A person's statement about a rule in a run. */
export interface HiddenShape {
  rule: string;
  hidden: boolean;
  why: string;
}

export interface Ids {
  ids: string[];
}

/** A token. */
export interface Key {
  token: string;
}

export interface LastValuesShape {
  values: Record<string, Record<string, number | "NaN" | "Infinity" | "-Infinity" | null>>;
  pending: number;
}

export interface MarkedList {
  samples: MarkedSample[];
  missing: number;
}

export interface MarkedSample {
  id: string;
  step: number | null;
  group: string;
  reward: number | "NaN" | "Infinity" | "-Infinity" | null;
  prompt: string;
  star: boolean;
  labels: string[];
  comments: string[];
  sets: string[];
}

export interface MetricCounts {
  names: Record<string, number>;
  pending: number;
}

/** A logged name and everything a chart of it needs to know. */
export interface MetricInfo {
  name: string;
  kind: string;
  unit: string;
  count: number;
  last: number | "NaN" | "Infinity" | "-Infinity" | null;
  step: number;
  entry: string;
  title: string;
  range: (number | null)[];
  range_from: string;
  healthy: (number | null)[];
  differs: string;
  note: string;
  stat: string;
  heat: boolean;
  also: string[];
}

/** A metric of A and B: from which step on they stay apart, null if they do not. */
export interface MetricShape {
  name: string;
  step: number | null;
  distance: number | "NaN" | "Infinity" | "-Infinity" | null;
  says: string;
}

export interface Names {
  names: MetricInfo[];
  entries: Record<string, EntryBrief>;
  watched: WatchList;
}

/** What to keep under a kind and a name; null takes it away. */
export interface NewEntry {
  kind: string;
  name: string;
  value?: any;
}

/** A few words about a step, or about the run. */
export interface NewNote {
  text: string;
  step?: number | null;
}

/** The text of a token, this once, and what it is. */
export interface NewToken {
  token: string;
  about: TokenShape;
}

export interface NoiseShape {
  says: string;
}

export interface NoteList {
  notes: NoteShape[];
}

/** Words about a step, or about the run. `edited` is true if others replaced the first ones. */
export interface NoteShape {
  id: string;
  step: number | null;
  time_ns: number;
  text: string;
  kind: string;
  author: string;
  edited: boolean;
}

/** A group against A in one number. */
export interface OutcomeShape {
  letter: string;
  name: string;
  score: string;
  a: number | "NaN" | "Infinity" | "-Infinity" | null;
  b: number | "NaN" | "Infinity" | "-Infinity" | null;
  difference: number | "NaN" | "Infinity" | "-Infinity" | null;
  low: number | "NaN" | "Infinity" | "-Infinity" | null;
  high: number | "NaN" | "Infinity" | "-Infinity" | null;
  p: number | "NaN" | "Infinity" | "-Infinity" | null;
  unit: string;
  n: number[];
  improvement: number | "NaN" | "Infinity" | "-Infinity" | null;
  graded: boolean;
}

/** Lines that a run printed; `first` is the number of those before them. */
export interface OutputShape {
  first: number;
  lines: string[];
  total: number;
}

/** Tasks that training has seen, and how many prompts of training were read. */
export interface OverlapShape {
  exact: string[];
  near: string[];
  prompts: number;
  samples: Record<string, TrainedShape>;
}

export interface OverviewShape {
  diagnosed: boolean;
  verdict: string;
  context: string;
  status: string;
  findings: FindingShape[];
  kind: string;
  kinds: string[][];
  vitals: Vital[];
  time: TimePart[];
  time_step: number | null;
  useful: UsefulShape | null;
  samples: PickedSample[];
  samples_step: number | null;
  samples_stepless: number;
  reward_range: (number | null)[];
  facts: string[][];
}

/** Two evaluations of a set: the difference, and task ids by what happened to them. */
export interface PairShape {
  before: number;
  after: number;
  difference: number | "NaN" | "Infinity" | "-Infinity" | null;
  low: number | "NaN" | "Infinity" | "-Infinity" | null;
  high: number | "NaN" | "Infinity" | "-Infinity" | null;
  p: number | "NaN" | "Infinity" | "-Infinity" | null;
  n: number;
  method: string;
  margin: number | "NaN" | "Infinity" | "-Infinity" | null;
  p_equivalent: number | "NaN" | "Infinity" | "-Infinity" | null;
  kinds: Record<string, string[]>;
  pass_before: (number | "NaN" | "Infinity" | "-Infinity" | null)[];
  pass_after: (number | "NaN" | "Infinity" | "-Infinity" | null)[];
}

export interface PickedSample {
  label: string;
  sample: SampleRow;
}

/** One value of one metric at one step, its weight and its neighbour. */
export interface PointShape {
  name: string;
  step: number;
  value: number | "NaN" | "Infinity" | "-Infinity" | null;
  weight: number | "NaN" | "Infinity" | "-Infinity" | null;
  counted: string;
  kind: string;
  unit: string;
  low: number | "NaN" | "Infinity" | "-Infinity" | null;
  high: number | "NaN" | "Infinity" | "-Infinity" | null;
  before_step: number | null;
  before: number | "NaN" | "Infinity" | "-Infinity" | null;
  change: number | "NaN" | "Infinity" | "-Infinity" | null;
  time_ns: number;
  ranks: RankValue[];
  stored: string;
  warning: string;
  why: string;
}

/** The body of every failed request. */
export interface Problem {
  error: string;
  says: string;
}

export interface ProjectDeltas {
  baseline: string;
  metric: string;
  runs: Record<string, DeltaShape>;
  groups: Record<string, DeltaShape>;
}

/** Kind -> name -> the entry that holds, and a sentence for each line that cannot be read. */
export interface ProjectShape {
  held: Record<string, Record<string, SaidShape>>;
  problems: string[];
}

export interface Question {
  query: string;
}

/** The value that one rank logged. */
export interface RankValue {
  rank: number;
  value: number | "NaN" | "Infinity" | "-Infinity" | null;
  weight: number | "NaN" | "Infinity" | "-Infinity" | null;
}

/** The kind of reference, the words for it, and its number where it has one. */
export interface Reference {
  kind: "finding" | "record" | "alarm" | "healthy" | "declared" | "opening" | "interval" | "none";
  text: string;
  value: number | null;
}

/** One repeat of a task. */
export interface RepeatShape {
  step: number;
  repeat: number;
  score: number | "NaN" | "Infinity" | "-Infinity" | null;
  failed: boolean;
  answer: string | null;
  sample: string | null;
}

export interface RunDetail {
  run: RunRow;
  config: Record<string, any>;
  environment: Record<string, any>;
  declared: Record<string, any>;
  damage: DamageShape[];
  notes: NoteShape[];
  output: string[];
  checkpoint: string;
  last_ok_step: number | null;
}

export interface RunList {
  runs: RunRow[];
  folder: string;
  pending: number;
}

/** One line of the Runs page. */
export interface RunRow {
  id: string;
  name: string;
  recorded_name: string;
  note: string;
  archived: boolean;
  project: string;
  group: string;
  tags: string[];
  algorithm: string;
  framework: string;
  state: string;
  reason: string;
  started_ns: number;
  ended_ns: number;
  heard_ns: number;
  step: number | null;
  steps: number;
  steps_planned: number | null;
  step_seconds: number | null;
  slot: number;
  spark: (number | null)[];
  headline: string;
  headline_value: number | "NaN" | "Infinity" | "-Infinity" | null;
  eval: string;
  eval_value: number | "NaN" | "Infinity" | "-Infinity" | null;
  findings: Record<string, number> | null;
  config: Record<string, any>;
  configuration: string;
  damage: number;
}

/** Lines of the project log beside the run. */
export interface Said {
  project: string;
  lines: string[];
}

export interface SaidList {
  entries: SaidShape[];
}

/** An entry of the project log; one that undoes others has `undoes` and no kind. */
export interface SaidShape {
  id: string;
  time_ns: number;
  author: string;
  kind?: string;
  name?: string;
  value?: any;
  undoes?: string[];
}

export interface SampleList {
  samples: SampleRow[];
  total: number;
}

/** A sample without its text; previews are the first characters. */
export interface SampleRow {
  id: string;
  group: string;
  task: string;
  env: string;
  step: number | null;
  reward: number | "NaN" | "Infinity" | "-Infinity" | null;
  score: number | "NaN" | "Infinity" | "-Infinity" | null;
  advantage: number | "NaN" | "Infinity" | "-Infinity" | null;
  tokens: number | null;
  stop_reason: string;
  trained: boolean | null;
  discard_reason: string;
  prompt: string;
  completion: string;
}

export interface Selection {
  ids: string[];
  format: "jsonl" | "parquet" | "csv" | "md";
}

/** An object of a ship; `gone` for a file that the run has no more. */
export interface Sent {
  name: string;
  kind: "whole" | "range" | "gone";
  start?: number;
  bytes?: number;
  sha256?: string;
  time_ns?: number;
}

/** Who is signed in; `projects` has `*` for who sees them all. */
export interface SessionShape {
  signed_in: boolean;
  name: string;
  may: string;
  projects: string[];
  runs: string[];
  ends_ns: number;
}

export interface SetList {
  sets: SetShape[];
}

export interface SetMember {
  run: string;
  sample: string;
}

/** A set with one score over steps; lists have one entry per evaluation. */
export interface SetShape {
  name: string;
  scores: string[];
  score: string;
  tasks: number;
  repeats: number;
  steps: number[];
  mean: (number | "NaN" | "Infinity" | "-Infinity" | null)[];
  low: (number | "NaN" | "Infinity" | "-Infinity" | null)[];
  high: (number | "NaN" | "Infinity" | "-Infinity" | null)[];
  failed: number[];
  best: number | null;
  detectable: number | "NaN" | "Infinity" | "-Infinity" | null;
  change: number | "NaN" | "Infinity" | "-Infinity" | null;
  significant: boolean;
}

export interface Sets {
  sets: Record<string, SetMember[]>;
}

/** Objects to ship, and the number of the last ship that the sender knows of. */
export interface Ship {
  project: string;
  after: number;
  objects: Sent[];
}

export interface Shipped {
  run: string;
  ship: number;
  rows: number;
}

/** Metrics, runs and steps, as the page shows them. */
export interface Shown {
  runs: string[];
  names: string[];
  first?: number | null;
  last?: number | null;
}

/** A rule that could not look, and what it needs. */
export interface SkippedShape {
  rule: string;
  title: string;
  needs: string;
}

/** The same tasks in A and B, by who solved them; `step` is the newest that all runs have. */
export interface SolvedShape {
  set: string;
  step: number | null;
  both: string[];
  only_a: string[];
  only_b: string[];
  neither: string[];
}

export interface SpanShape {
  lane: string;
  name: string;
  start_ns: number;
  end_ns: number;
  step: number | null;
}

/** Rows of an answer; `total` also counts those that were not sent. */
export interface SqlAnswer {
  columns: SqlColumn[];
  rows: any[][];
  total: number;
  seconds: number;
}

export interface SqlColumn {
  name: string;
  type: string;
}

export interface StillList {
  names: string[];
}

/** A request to stop the current attempt of a run. */
export interface StopShape {
  attempt: number;
  why: string;
  by: string;
  time_ns: number;
}

export interface Stored {
  bytes: number;
  sha256: string;
}

export interface TableColumn {
  name: string;
  type: string;
  says: string;
}

export interface TableList {
  tables: TableShape[];
}

export interface TableShape {
  name: string;
  columns: TableColumn[];
}

/** How many entries the lake did not have yet. */
export interface Taken {
  new: number;
}

/** The tape with its findings. x is the step; clocks translate a step to the other axes. */
export interface Tape {
  first: number;
  last: number;
  planned: number | null;
  headline: string;
  x: number[];
  reward: (number | null)[];
  dropped: (number | null)[];
  evals: EvalMark[];
  notes: NoteShape[];
  clocks: Record<string, (number | null)[]>;
  started: number;
  findings: FindingShape[];
  diagnosed: boolean;
}

export interface TaskRow {
  name: string;
  failed: number;
  total: number;
  share: (number | "NaN" | "Infinity" | "-Infinity" | null)[];
}

/** A task, and everything that was recorded of it. */
export interface TaskShape {
  task: string;
  cluster: string | null;
  tags: string[];
  repeats: RepeatShape[];
}

export interface TextAsk {
  id: string;
  field: string;
  start: number;
}

export interface TimePart {
  name: string;
  seconds: number;
  wait: boolean;
}

export interface TokenList {
  tokens: TokenShape[];
}

/** A token without its text; a time that has not come is null. */
export interface TokenShape {
  id: string;
  name: string;
  projects: string[];
  runs: string[];
  boards: string[];
  may: string;
  made_ns: number;
  ends_ns: number;
  used_ns: number | null;
  revoked_ns: number | null;
}

/** What one target was told about one finding, and whether it got it. */
export interface ToldShape {
  rule: string;
  step: number;
  event: string;
  to: string;
  stage: string;
  why: string;
  time_ns: number;
}

export interface ToolRow {
  name: string;
  calls: number;
  failed: number;
  p50: number | "NaN" | "Infinity" | "-Infinity" | null;
  p95: number | "NaN" | "Infinity" | "-Infinity" | null;
}

/** A sample of training with the prompt of a task. */
export interface TrainedShape {
  sample: string;
  step: number;
}

/** Entries to take back. */
export interface Undo {
  ids: string[];
}

/** The share of the tokens generated that taught something, and where the rest went. */
export interface UsefulShape {
  share: number;
  samples: number;
  tokens: number;
  wasted: CostShape[];
  sentence: string;
}

export interface ValidationError {
  loc: (string | number)[];
  msg: string;
  type: string;
  input?: any;
  ctx?: Record<string, any>;
}

/** Run -> name -> the value that is stored at a step. */
export interface ValuesShape {
  step: number;
  runs: Record<string, Record<string, number | "NaN" | "Infinity" | "-Infinity" | null>>;
}

/** What there is: no viewer, one that nobody trusted as it is, one that fails, or its source. */
export interface ViewerShape {
  state: "none" | "untrusted" | "failed" | "trusted";
  says: string;
  source: string;
}

export interface Vital {
  title: string;
  metrics: string[];
  labels: string[];
  unit: string;
  status: string;
  reference: Reference;
  value: number | "NaN" | "Infinity" | "-Infinity" | null;
  step: number | null;
  extra: string;
  reading: string;
  range: (number | null)[];
  healthy: (number | null)[];
  entry: string;
  points: boolean;
  findings: FindingShape[];
}

/** A token to make: for whom, of which projects, what it allows, and for how long. */
export interface Wanted {
  name: string;
  projects: string[];
  may?: "read" | "record" | "admin";
  days?: number;
}

/** What to watch for a kind of run, as far as the run logs it. */
export interface WatchList {
  title: string;
  charts: string[][];
}

export interface Which {
  id: string;
}

export interface WhyKind {
  name: string;
  more: number;
  each: number;
  share: number;
  share_before: number;
  mean: number | null;
  mean_before: number | null;
}

export interface WhyPart {
  group: string;
  task: string;
  prompt: string;
  adds: number;
  count: number;
  mean: number;
}

/** The groups beyond the listed ones, by direction. */
export interface WhyRest {
  down: number;
  down_adds: number;
  up: number;
  up_adds: number;
}

export interface WhyShape {
  metric: string;
  step: number;
  against: number;
  since: number;
  against_since: number;
  asked: number;
  now: number | null;
  before: number | null;
  change: number | null;
  parts: WhyPart[];
  rest: WhyRest;
  kinds: Record<string, WhyKind[]>;
  counted: number[];
  left_out: number[];
  population: string;
  recorded: (number | null)[];
  agrees: boolean | null;
}

/** Why the run should stop. */
export interface Wish {
  why?: string;
}

/** Are the findings of this rule a problem in this run? */
export interface Word {
  rule: string;
  hidden?: boolean;
  why?: string;
  step?: number | null;
}

export interface WorkerRow {
  name: string;
  total: number;
  failed: number;
  p50: number | "NaN" | "Infinity" | "-Infinity" | null;
  p95: number | "NaN" | "Infinity" | "-Infinity" | null;
}

/** Names, runs, range of steps, clock and resolution. */
export interface rollscope__server__routes__metrics__series__Ask {
  runs: string[];
  names: string[];
  x?: "step" | "time" | "relative" | "tokens" | "samples";
  lo?: number | null;
  hi?: number | null;
  env?: string;
  from?: number;
  points?: number;
  grid?: any[] | null;
}

/** Groups of runs, metrics by our names, and the axis. */
export interface rollscope__server__routes__project__curves__Ask {
  groups: string[][];
  names: string[];
  x?: "step" | "time" | "relative" | "tokens" | "samples" | "gpu";
  points?: number;
  centre?: "mean" | "iqm";
}
