package headrace.spark;

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils$;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * The files of a pinned scan, stored by column and grouped by partition values.
 *
 * <p>The kernel writes them as one Arrow stream: path, size, time, whether the file has a deletion
 * vector, and the typed partition values. Objects for Spark are created only for the files that a
 * query needs. A file with a deletion vector has a group of its own: the vector is an additional
 * partition value, null for all other files, and is fetched when a query first needs it.
 */
public final class FileList {
  private static final int FIRST_PARTITION_COLUMN = 4;
  private static final byte[] NOT_FETCHED = new byte[0];

  public final StructType partitionSchema;
  final Directory[] directories;
  final long sizeInBytes;
  private final List paths = new ArrayList();
  private final LongColumn sizes = new LongColumn();
  private final LongColumn times = new LongColumn();

  /** Files with the same partition values. */
  static final class Directory {
    final InternalRow values;
    final int[] ordinals;

    Directory(InternalRow values, int[] ordinals) {
      this.values = values;
      this.ordinals = ordinals;
    }

    boolean hasVector(StructType schema) {
      int last = schema.length() - 1;
      return values.numFields() > 0
          && Vectors.COLUMN.equals(schema.fields()[Math.max(last, 0)].name())
          && !values.isNullAt(last);
    }
  }

  /**
   * @param stream the path of the Arrow stream
   * @param partitionSchema the types of the partition values, under their physical names
   * @param vectorColumn the column of deletion vectors; null if no file has one
   */
  public FileList(String stream, StructType partitionSchema, StructField vectorColumn)
      throws Exception {
    this.partitionSchema =
        vectorColumn == null ? partitionSchema : partitionSchema.add(vectorColumn);
    BufferAllocator allocator = newAllocator();
    try {
      InputStream file = new BufferedInputStream(Files.newInputStream(Paths.get(stream)), 1 << 20);
      ArrowStreamReader reader = new ArrowStreamReader(file, allocator);
      try {
        this.directories = read(reader, partitionSchema, vectorColumn != null);
      } finally {
        reader.close();
      }
    } finally {
      allocator.close();
    }
    this.sizeInBytes = sizes.sum();
  }

  private Directory[] read(ArrowStreamReader reader, StructType partitions, boolean vectors)
      throws Exception {
    UnsafeProjection toRow = UnsafeProjection$.MODULE$.create(partitions);
    int width = partitions.length();
    Map groups = new HashMap();
    List withVectors = new ArrayList();
    VectorSchemaRoot root = reader.getVectorSchemaRoot();
    while (reader.loadNextBatch()) {
      VarCharVector path = (VarCharVector) root.getVector(0);
      BigIntVector size = (BigIntVector) root.getVector(1);
      BigIntVector time = (BigIntVector) root.getVector(2);
      BitVector hasVector = (BitVector) root.getVector(3);
      ColumnVector[] columns = new ColumnVector[width];
      for (int i = 0; i < width; i++) {
        columns[i] = new ArrowColumnVector(root.getVector(FIRST_PARTITION_COLUMN + i));
      }
      ColumnarBatch batch = new ColumnarBatch(columns, root.getRowCount());
      for (int row = 0; row < root.getRowCount(); row++) {
        int ordinal = paths.size();
        paths.add(new String(path.get(row), java.nio.charset.StandardCharsets.UTF_8));
        sizes.add(size.get(row));
        times.add(time.get(row));
        UnsafeRow values = toRow.apply(batch.getRow(row));
        if (hasVector.get(row) != 0) {
          int[] single = new int[] {ordinal};
          withVectors.add(new Directory(generic(values, partitions, NOT_FETCHED, true), single));
          continue;
        }
        IntColumn group = (IntColumn) groups.get(values);
        if (group == null) {
          group = new IntColumn();
          groups.put(values.copy(), group);
        }
        group.add(ordinal);
      }
    }
    Directory[] groupedFiles = new Directory[groups.size() + withVectors.size()];
    int next = 0;
    for (Object item : groups.entrySet()) {
      Map.Entry entry = (Map.Entry) item;
      InternalRow values = generic((InternalRow) entry.getKey(), partitions, null, vectors);
      groupedFiles[next++] = new Directory(values, ((IntColumn) entry.getValue()).toArray());
    }
    for (Object item : withVectors) {
      groupedFiles[next++] = (Directory) item;
    }
    return groupedFiles;
  }

  /** Returns a row of partition values whose deletion vector can be set later. */
  private static InternalRow generic(
      InternalRow values, StructType types, byte[] vector, boolean withVector) {
    Object[] fields = new Object[types.length() + (withVector ? 1 : 0)];
    for (int i = 0; i < types.length(); i++) {
      Object value = values.get(i, types.fields()[i].dataType());
      boolean isView = value instanceof org.apache.spark.unsafe.types.UTF8String;
      fields[i] = isView ? ((org.apache.spark.unsafe.types.UTF8String) value).clone() : value;
    }
    if (withVector) {
      fields[types.length()] = vector;
    }
    return new GenericInternalRow(fields);
  }

  /** Fetches the deletion vectors that have not been fetched yet. */
  void loadVectors(List directories, Function vectors) {
    synchronized (this) {
      List missing = new ArrayList();
      for (Object item : directories) {
        if (vectorOf((Directory) item) == NOT_FETCHED) {
          missing.add(item);
        }
      }
      if (missing.isEmpty()) {
        return;
      }
      ByteBuffer requested = ByteBuffer.allocate(4 * missing.size()).order(ByteOrder.LITTLE_ENDIAN);
      for (Object item : missing) {
        requested.putInt(((Directory) item).ordinals[0]);
      }
      Object answer = vectors.apply(requested.array());
      if (answer instanceof String) {
        throw new IllegalArgumentException((String) answer);
      }
      byte[][] fetched = decodeVectors((byte[]) answer, missing.size());
      for (int i = 0; i < fetched.length; i++) {
        ((Directory) missing.get(i)).values.update(partitionSchema.length() - 1, fetched[i]);
      }
    }
  }

  private byte[] vectorOf(Directory directory) {
    return directory.values.getBinary(partitionSchema.length() - 1);
  }

  private static byte[][] decodeVectors(byte[] stream, int expected) {
    byte[][] fetched = new byte[expected][];
    int next = 0;
    BufferAllocator allocator = newAllocator();
    try {
      ArrowStreamReader reader =
          new ArrowStreamReader(new ByteArrayInputStream(stream), allocator);
      try {
        while (reader.loadNextBatch()) {
          VarBinaryVector column = (VarBinaryVector) reader.getVectorSchemaRoot().getVector(0);
          for (int i = 0; i < column.getValueCount(); i++) {
            fetched[next++] = column.get(i);
          }
        }
      } finally {
        reader.close();
      }
    } catch (java.io.IOException error) {
      throw new IllegalStateException("the stream of deletion vectors is incomplete", error);
    } finally {
      allocator.close();
    }
    if (next != expected) {
      throw new IllegalStateException("expected " + expected + " deletion vectors, not " + next);
    }
    return fetched;
  }

  /** Returns the ordinals of the files whose paths are in a set. */
  int[] withPathIn(int[] ordinals, Set matching) {
    IntColumn selected = new IntColumn();
    for (int i = 0; i < ordinals.length; i++) {
      if (matching.contains(paths.get(ordinals[i]))) {
        selected.add(ordinals[i]);
      }
    }
    return selected.toArray();
  }

  FileStatusWithMetadata[] statuses(int[] ordinals) {
    FileStatusWithMetadata[] statuses = new FileStatusWithMetadata[ordinals.length];
    scala.collection.immutable.Map none = scala.collection.immutable.Map$.MODULE$.empty();
    for (int i = 0; i < ordinals.length; i++) {
      int file = ordinals[i];
      String address = (String) paths.get(file);
      Path path = hadoopPath(address);
      long size = sizeOf(address, path, sizes.get(file));
      FileStatus status = new FileStatus(size, false, 0, 0L, times.get(file), path);
      statuses[i] = new FileStatusWithMetadata(status, none);
    }
    return statuses;
  }

  /**
   * Returns the size of a file for Spark.
   *
   * <p>Spark reads a file only up to this size and skips empty files, so a size that is too small
   * would lose rows. The size of a local file is read from the file system. For a file in a store,
   * which would cost a request, the size in the log is used, unless it is 0.
   */
  private static long sizeOf(String address, Path path, long logged) {
    long size = address.startsWith("/") ? new java.io.File(address).length() : logged;
    if (size > 0) {
      return size;
    }
    try {
      size = path.getFileSystem(SparkContext.getOrCreate().hadoopConfiguration())
          .getFileStatus(path).getLen();
    } catch (java.io.FileNotFoundException error) {
      throw new IllegalArgumentException(
          "[DATA_FILE_NOT_FOUND] "
              + address
              + ": the log references this file, but it does not exist; it may have been vacuumed:"
              + " read a newer version, or restore the file");
    } catch (java.io.IOException error) {
      throw new java.io.UncheckedIOException(error);
    }
    if (size == 0) {
      throw new IllegalArgumentException(
          "[CORRUPT_DATA_FILE] "
              + address
              + ": it is empty; restore the file from a backup, or have its writer rewrite it");
    }
    return size;
  }

  String[] uris() {
    String[] uris = new String[paths.size()];
    for (int i = 0; i < uris.length; i++) {
      uris[i] = hadoopPath((String) paths.get(i)).toUri().toString();
    }
    return uris;
  }

  /** Converts an address to a Hadoop path; no character in it is an escape or a pattern. */
  static Path hadoopPath(String address) {
    int end = address.startsWith("/") ? -1 : address.indexOf("://");
    if (end < 0) {
      return new Path("file", null, address);
    }
    int slash = address.indexOf('/', end + 3);
    String authority = address.substring(end + 3, slash);
    return new Path(address.substring(0, end), authority, address.substring(slash));
  }

  private static BufferAllocator newAllocator() {
    return ArrowUtils$.MODULE$.rootAllocator().newChildAllocator("headrace", 0, Long.MAX_VALUE);
  }

  /** A growing array of integers. */
  private static final class IntColumn {
    private int[] values = new int[4];
    private int count = 0;

    void add(int value) {
      if (count == values.length) {
        values = java.util.Arrays.copyOf(values, 2 * count);
      }
      values[count++] = value;
    }

    int[] toArray() {
      return java.util.Arrays.copyOf(values, count);
    }
  }

  /** A growing array of longs. */
  private static final class LongColumn {
    private long[] values = new long[64];
    private int count = 0;

    void add(long value) {
      if (count == values.length) {
        values = java.util.Arrays.copyOf(values, 2 * count);
      }
      values[count++] = value;
    }

    long get(int index) {
      return values[index];
    }

    long sum() {
      long total = 0;
      for (int i = 0; i < count; i++) {
        total += values[i];
      }
      return total;
    }
  }
}
