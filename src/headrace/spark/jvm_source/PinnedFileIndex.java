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
 * <p>Only the driver has this class: executors are sent the files that it names, never itself.
 * Spark asks it for files with the filters of a query. Those on partition values are decided
 * here. The others are shown to the kernel, which knows the statistics of the files; whatever
 * keeps it from an answer keeps the files.
 */
public final class PinnedFileIndex implements FileIndex {
  private static final int REMEMBERED_ANSWERS = 16;

  private final String identity;
  private final Path[] rootPaths;
  private final FileList files;
  private final Function kernel;
  private final Function vectors;
  private final Map answers = new LinkedHashMap();

  /**
   * @param identity what the index stands for: two with the same are the same
   * @param shown the same in a few words, for plans
   * @param root the table
   * @param files its files
   * @param kernel given a predicate as JSON, the paths of the files that may match, a line each;
   *     null if it cannot tell
   * @param vectors given the ordinals of files, the deletion vector of each; a text says why not
   */
  public PinnedFileIndex(
      String identity,
      String shown,
      String root,
      FileList files,
      Function kernel,
      Function vectors) {
    this.identity = identity;
    // Plans show the paths, and cut them short: what they must show comes first.
    this.rootPaths = new Path[] {new Path("pin", null, "/" + shown), FileList.hadoopPath(root)};
    this.files = files;
    this.kernel = kernel;
    this.vectors = vectors;
  }

  public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
    BasePredicate matches = Predicates.overPartitions(partitionFilters, files.partitionSchema);
    Set kept = dataFilters.isEmpty() ? null : askKernel(partitionFilters, dataFilters);
    List selected = new ArrayList();
    List withVector = new ArrayList();
    for (int i = 0; i < files.directories.length; i++) {
      FileList.Directory directory = files.directories[i];
      if (matches != null && !matches.eval(directory.values)) {
        continue;
      }
      int[] ordinals = kept == null ? directory.ordinals : files.among(directory.ordinals, kept);
      if (ordinals.length == 0) {
        continue;
      }
      selected.add(new FileList.Directory(directory.values, ordinals));
      if (directory.hasVector(files.partitionSchema)) {
        withVector.add(directory);
      }
    }
    files.loadVectors(withVector, vectors);
    PartitionDirectory[] found = new PartitionDirectory[selected.size()];
    for (int i = 0; i < found.length; i++) {
      FileList.Directory directory = (FileList.Directory) selected.get(i);
      FileStatusWithMetadata[] statuses = files.statuses(directory.ordinals);
      found[i] = new PartitionDirectory(directory.values, Predicates.seq(statuses));
    }
    return Predicates.seq(found);
  }

  /** The paths of the files that may hold a row that the filters keep; null for all. */
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
    Set kept = null;
    if (answer != null) {
      String text = new String(answer, java.nio.charset.StandardCharsets.UTF_8);
      kept = new HashSet(Arrays.asList(text.split("\n")));
    }
    synchronized (answers) {
      if (answers.size() >= REMEMBERED_ANSWERS) {
        answers.clear();
      }
      answers.put(predicate, kept);
    }
    return kept;
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

  /** Later commits do not change it, so that Spark need not forget what it cached of it. */
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
