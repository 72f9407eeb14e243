package headrace.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * The files of a table at one version, for Spark's own scan.
 *
 * <p>Only the driver has this class; executors receive the files that it lists. Spark calls it with
 * the filters of a query. Filters on partition values are evaluated here. The others are passed to
 * the kernel, which knows the statistics of the files; if the kernel cannot decide, no file is
 * pruned.
 */
public final class PinnedFileIndex implements FileIndex {
  private static final int MAX_CACHED_ANSWERS = 16;

  private final String identity;
  private final Path[] rootPaths;
  private final FileList files;
  private final Function kernel;
  private final Function vectors;
  private final Map answers = new LinkedHashMap();

  /**
   * @param identity identifies the pinned files; indexes with the same identity are equal
   * @param shown a short form of the identity, for plans
   * @param root the address of the table
   * @param files the pinned files
   * @param kernel takes a predicate as JSON; returns the paths of the files that may match, one per
   *     line, or null if the kernel cannot evaluate it
   * @param vectors takes the ordinals of files; returns their deletion vectors, or an error as text
   */
  public PinnedFileIndex(
      String identity,
      String shown,
      String root,
      FileList files,
      Function kernel,
      Function vectors) {
    this.identity = identity;
    // Plans show the paths, truncated, so the most important one comes first.
    this.rootPaths = new Path[] {new Path("pin", null, "/" + shown), FileList.hadoopPath(root)};
    this.files = files;
    this.kernel = kernel;
    this.vectors = vectors;
  }

  public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
    BasePredicate matches = Predicates.overPartitions(partitionFilters, files.partitionSchema);
    Set matching = dataFilters.isEmpty() ? null : askKernel(partitionFilters, dataFilters);
    List selected = new ArrayList();
    List withVector = new ArrayList();
    for (int i = 0; i < files.directories.length; i++) {
      FileList.Directory directory = files.directories[i];
      if (matches != null && !matches.eval(directory.values)) {
        continue;
      }
      int[] ordinals =
          matching == null
              ? directory.ordinals
              : files.withPathIn(directory.ordinals, matching);
      if (ordinals.length == 0) {
        continue;
      }
      selected.add(new FileList.Directory(directory.values, ordinals));
      if (directory.hasVector(files.partitionSchema)) {
        withVector.add(directory);
      }
    }
    files.loadVectors(withVector, vectors);
    PartitionDirectory[] directories = new PartitionDirectory[selected.size()];
    for (int i = 0; i < directories.length; i++) {
      FileList.Directory directory = (FileList.Directory) selected.get(i);
      FileStatusWithMetadata[] statuses = files.statuses(directory.ordinals);
      directories[i] = new PartitionDirectory(directory.values, Predicates.seq(statuses));
    }
    return Predicates.seq(directories);
  }

  /** Returns the paths of the files that may contain a matching row; null for all files. */
  private Set askKernel(Seq partitionFilters, Seq dataFilters) {
    String predicate = Predicates.toJson(partitionFilters, dataFilters);
    if (predicate == null) {
      return null;
    }
    synchronized (answers) {
      if (answers.containsKey(predicate)) {
        return (Set) answers.get(predicate);
      }
    }
    byte[] answer = (byte[]) kernel.apply(predicate);
    Set matching = null;
    if (answer != null) {
      String text = new String(answer, java.nio.charset.StandardCharsets.UTF_8);
      matching = new HashSet(Arrays.asList(text.split("\n")));
    }
    synchronized (answers) {
      if (answers.size() >= MAX_CACHED_ANSWERS) {
        answers.clear();
      }
      answers.put(predicate, matching);
    }
    return matching;
  }

  public Seq rootPaths() {
    return Predicates.seq(rootPaths);
  }

  public String[] inputFiles() {
    return files.uris();
  }

  public void refresh() {}

  public long sizeInBytes() {
    return files.sizeInBytes;
  }

  public StructType partitionSchema() {
    return files.partitionSchema;
  }

  /** Returns true: later commits do not change the files, so Spark may keep cached data. */
  public boolean isTimeTravel() {
    return true;
  }

  public scala.Option metadataOpsTimeNs() {
    return scala.Option.empty();
  }

  public String toString() {
    return "PinnedFileIndex(" + identity + ")";
  }

  public boolean equals(Object other) {
    return other instanceof PinnedFileIndex && ((PinnedFileIndex) other).identity.equals(identity);
  }

  public int hashCode() {
    return identity.hashCode();
  }
}
